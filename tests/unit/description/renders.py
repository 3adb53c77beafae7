"""Where renders of descriptions and pictures are kept, to be looked at by eye: `build/pictures`."""

from __future__ import annotations

from pathlib import Path

FOLDER = Path(__file__).resolve().parents[3] / "build" / "pictures"
THEMES = {"light": "background:#fff;color:#222", "dark": "background:#111;color:#ddd"}


def keep_page(name: str, html: str) -> None:
    """The HTML in pages of a light and a dark theme."""
    FOLDER.mkdir(parents=True, exist_ok=True)
    for theme, style in THEMES.items():
        page = f'<!doctype html><meta charset="utf-8"><body style="{style};font-family:sans-serif">{html}</body>'
        (FOLDER / f"{name}-{theme}.html").write_text(page)


def path_of(name: str) -> Path:
    """The file of a picture."""
    FOLDER.mkdir(parents=True, exist_ok=True)
    return FOLDER / f"{name}.png"
