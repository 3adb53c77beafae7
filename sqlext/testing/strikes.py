"""How often a fault has still to happen, counted by all processes of one machine together."""

from __future__ import annotations

import os
import tempfile
from contextlib import suppress
from dataclasses import dataclass
from pathlib import Path

_MET = "met"
_LET_THROUGH = "through-"


@dataclass(frozen=True, slots=True)
class Strikes:
    """Files in `folder`, one for each time that the fault has still to happen: whoever removes one lets it happen.

    So a fault that must happen once does so in one of many tasks, and a process that it kills has counted it before.
    `times` None: whenever the fault's place is reached. The first `after` times it is let through.
    """

    folder: str
    times: int | None
    after: int = 0

    @staticmethod
    def of(times: int | None, after: int = 0) -> Strikes:
        """Strikes in a new folder where the system has temporary files.

        Raises ValueError unless `times` is None or positive and `after` is not negative."""
        if times is not None and times < 1:
            raise ValueError(f"a fault happens at least once, not {times} times; with times=None, whenever it can")
        if after < 0:
            raise ValueError(f"after={after} is less than nothing to let through")
        folder = Path(tempfile.mkdtemp(prefix="sqlext-fault-"))
        for name in (*map(str, range(times or 0)), *(f"{_LET_THROUGH}{number}" for number in range(after))):
            (folder / name).touch()
        return Strikes(str(folder), times, after)

    def take(self) -> bool:
        """Whether the fault happens now; of several callers at once, to as many as are left."""
        if any(self._removes(f"{_LET_THROUGH}{number}") for number in range(self.after)):
            return False
        if self.times is None:
            with suppress(FileNotFoundError):  # the folder is gone once the fault is over
                os.close(os.open(os.path.join(self.folder, _MET), os.O_CREAT | os.O_WRONLY))
            return os.path.isdir(self.folder)
        return any(self._removes(str(number)) for number in range(self.times))

    def _removes(self, name: str) -> bool:
        """Whether the file was there, and this call has removed it."""
        with suppress(FileNotFoundError):
            os.unlink(os.path.join(self.folder, name))
            return True
        return False

    @property
    def met(self) -> int:
        """How often the fault has happened; without `times` 1 for any number."""
        names = [name for name in os.listdir(self.folder) if not name.startswith(_LET_THROUGH)]
        return len(names) if self.times is None else self.times - len(names)

    def end(self) -> None:
        """The fault happens no more."""
        with suppress(FileNotFoundError):
            for name in os.listdir(self.folder):
                with suppress(FileNotFoundError):
                    os.unlink(os.path.join(self.folder, name))
            os.rmdir(self.folder)
