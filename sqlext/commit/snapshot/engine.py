"""Name and version of this engine, as snapshot summaries and files state them."""

from sqlext.version import __version__

ENGINE_NAME = "sqlext"
ENGINE_VERSION = __version__
