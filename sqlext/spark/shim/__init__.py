"""The shim's jar, and its objects as Python calls them."""
