"""What a snapshot is made of: manifests, summary, deletion vectors, stored changelogs."""
