"""Whether the parts of a table fit together: metadata, manifest lists, manifests, deletes, totals."""
