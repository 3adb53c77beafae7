"""The shim's jar, and access to its objects."""
