"""Hooks of MkDocs: README.md and CHANGELOG.md are pages, and links to other files of the clone lead to its repository.

Without a repository (`extra.repository`) such a link is the name of the file; one by a label, as in tables, shows it as
its title.
"""

from __future__ import annotations

import posixpath
import re
from collections.abc import Mapping
from pathlib import Path
from typing import Any

ROOT = Path(__file__).resolve().parents[1]
TOP_PAGES = {"README.md": "index.md", "CHANGELOG.md": "changelog.md"}
"""Files beside docs/ that are pages, and their names as such."""
DRAWINGS = "docs/drawings/"
_FENCES = re.compile(r"(^ *```.*?^ *```[^\n]*$)", re.MULTILINE | re.DOTALL)
_LINKS = re.compile(r"\[((?:[^\[\]]|\[[^\[\]]*\])*)\]\(([^()\s]+)\)")
_REFERENCES = re.compile(r"\[([^\[\]\n]+)\]\[([^\[\]\n]+)\]")
_DEFINITIONS = re.compile(r"^\[([^\[\]\n]+)\]: (\S+)\n?", re.MULTILINE)


def on_config(config: Any) -> Any:
    """Lists the pages of a folder where the navigation names it."""
    config.nav = _with_folders(config.nav, Path(config.docs_dir))
    return config


def on_files(files: Any, config: Any) -> Any:
    """Adds the pages that are not in docs/."""
    from mkdocs.structure.files import File

    for name, page in TOP_PAGES.items():
        files.append(File.generated(config, page, content=(ROOT / name).read_text(encoding="utf-8")))
    return files


def on_page_markdown(markdown: str, page: Any, config: Any, **_: Any) -> str:
    """Makes the links of a page those of the site."""
    path = page.file.src_uri
    source = next((name for name, shown in TOP_PAGES.items() if shown == path), f"docs/{path}")
    return linked(markdown, source, path, config.extra["repository"])


def linked(markdown: str, source: str, page: str, repository: str) -> str:
    """The text of a page with its links to files made those of the site.

    `source` is the path of the file in the clone, `page` that in the site; `repository` begins the address of a file.
    """
    parts = _FENCES.split(markdown)
    named = {label: target for part in parts[::2] for label, target in _DEFINITIONS.findall(part)}
    addresses = {label: _address(target, source, page, repository) for label, target in named.items()}

    def defined(definition: re.Match[str]) -> str:
        address = addresses[definition[1]]
        return "" if address is None else f"[{definition[1]}]: {address}\n"

    def referred(link: re.Match[str]) -> str:
        if addresses.get(link[2], "") is not None:
            return link[0]
        return f'<span title="{_file(named[link[2]], source)}">{link[1]}</span>'

    for number in range(0, len(parts), 2):
        part = _LINKS.sub(lambda link: _link(link, source, page, repository), parts[number])
        parts[number] = _DEFINITIONS.sub(defined, _REFERENCES.sub(referred, part))
    return "".join(parts)


def _link(link: re.Match[str], source: str, page: str, repository: str) -> str:
    text, target = link[1], link[2]
    address = _address(target, source, page, repository)
    if address is not None:
        return f"[{text}]({address})"
    file = _file(target, source)
    return f"`{file}`" if text.strip("`") in (file, posixpath.basename(file)) else f"{text} (`{file}`)"


def _address(target: str, source: str, page: str, repository: str) -> str | None:
    """Where a link leads in the site, or None for a file that has no address."""
    path, hash_sign, anchor = target.partition("#")
    if not path or "://" in path or path.startswith("mailto:"):
        return target
    file = _file(target, source)
    shown = _page_of(file)
    if shown is not None:
        return f"{posixpath.relpath(shown, posixpath.dirname(page) or '.')}{hash_sign}{anchor}"
    if not (ROOT / file).exists():
        return target  # left for --strict to tell of
    return f"{repository.rstrip('/')}/{file}{hash_sign}{anchor}" if repository else None


def _file(target: str, source: str) -> str:
    return posixpath.normpath(posixpath.join(posixpath.dirname(source), target.partition("#")[0]))


def _page_of(file: str) -> str | None:
    if file in TOP_PAGES:
        return TOP_PAGES[file]
    if file == "docs/decisions":
        return "decisions/" + sorted(one.name for one in (ROOT / file).glob("*.md"))[0]
    is_of_site = file.startswith("docs/") and (file.endswith(".md") or file.startswith(DRAWINGS))
    return file.removeprefix("docs/") if is_of_site else None


def _with_folders(nav: Any, docs: Path) -> Any:
    if isinstance(nav, list):
        return [_with_folders(one, docs) for one in nav]
    if isinstance(nav, Mapping):
        return {title: _with_folders(one, docs) for title, one in nav.items()}
    return sorted(f"{nav}{one.name}" for one in (docs / nav).glob("*.md")) if nav.endswith("/") else nav
