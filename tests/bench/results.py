"""The results of a run: medians and goals."""

from dataclasses import dataclass
from statistics import median

from cases import CHANGED

# Redis commands per request that still count as none: workers periodically confirm what
# they have cached about a key.
NO_COMMANDS = 0.01
NO_CLIFF = 1.10
# With the largest number of keys, each request charges a different account, and nothing
# known about it is in the CPU caches.
MANY_KEYS = 1.25
BYTES_PER_PET = 32


@dataclass(frozen=True)
class Row:
    """A cell of one contender. Attributes are the medians of its rounds."""

    cell: object
    contender: str
    samples: list

    def __getattr__(self, name):
        return median(getattr(sample, name) for sample in self.samples)


@dataclass(frozen=True)
class Goal:
    text: str
    bound: float
    value: float
    unit: str = ""

    @property
    def met(self):
        return self.value <= self.bound

    def as_json(self):
        return {**self.__dict__, "value": round(self.value, 4), "met": self.met}


class Results:
    def __init__(self, plan, rows, memory):
        self.plan = plan
        self.rows = rows
        self.memory = memory  # bytes per pet, by contender and size
        self._index = {
            (row.contender, row.cell.case.name, row.cell.size, row.cell.keys): row
            for row in rows
        }

    def find(self, case, contender="petstore", size=None, keys=1):
        """The row of a case, or None if it was not measured."""
        return self._index.get((contender, case, size or self.plan.size, keys))

    @property
    def floor(self):
        return self.find("floor", "floor")

    def to_floor(self, row):
        return row.sum_us / self.floor.sum_us if self.floor else None

    def to_lua(self, row):
        cell = row.cell
        lua = self.find(cell.case.name, "lua", cell.size, cell.keys)
        return row.sum_us / lua.sum_us if lua and lua is not row else None

    def to_before(self, row):
        """Median, minimum and maximum of the rounds' ratios; None without --before."""
        cell = row.cell
        before = self.find(cell.case.name, "before", cell.size, cell.keys)
        if not before or row.contender != "petstore":
            return None
        pairs = zip(row.samples, before.samples)
        ratios = [now.sum_us / then.sum_us for now, then in pairs]
        return median(ratios), min(ratios), max(ratios)

    @property
    def foreign(self):
        return median(sample.foreign for row in self.rows for sample in row.samples)

    def goals(self):
        return [goal for goal in self._goals() if goal]

    def _goals(self):
        for case, text, bound in (
            ("get", "get", 0.30),
            ("list-20", "list of 20", 0.22),
            ("list-100", "list of 100", 0.12),
            ("deep", "deep filtered page", 0.24),
            ("create", "create", 0.45),
        ):
            yield self._ratio(
                f"{text}, of the Lua peer's CPU time",
                bound, self.find(case), self.find(case, "lua"),
            )  # fmt: skip
        for case, text, bound in (
            ("get", "get", 1.60),
            ("denied", "429 storm", 1.25),
            ("unknown", "invalid key", 1.35),
        ):
            yield self._ratio(
                f"{text}, of nginx's floor", bound, self.find(case), self.floor
            )
        for case, text in (("denied", "429 storm"), ("unknown", "invalid key")):
            row = self.find(case)
            if row:
                text = f"{text}, Redis commands per request"
                yield Goal(text, NO_COMMANDS, row.redis_commands)
        small, large = self.plan.sizes[0], self.plan.sizes[-1]
        for case, text in (
            ("get-any", "get, any pet"),
            ("list-20-any", "list of 20, any page"),
            ("deep", "deep filtered page"),
            ("deep-any", "filtered page, any"),
        ):
            yield self._ratio(
                f"{text}: {large:,} pets, of the cost with {small:,}",
                NO_CLIFF, self.find(case, size=large), self.find(case, size=small),
            )  # fmt: skip
        yield self._ratio(
            f"rare status (one pet in {self.plan.rare:,}), of the deep page's cost",
            NO_CLIFF, self.find("rare", size=large), self.find("deep", size=large),
        )  # fmt: skip
        for case, changed in CHANGED:
            yield self._ratio(
                f"{changed.text}, of the cost without",
                NO_CLIFF, self.find(changed.name), self.find(case.name),
            )  # fmt: skip
        for keys in self.plan.keys[1:]:
            yield self._ratio(
                f"get with {keys:,} keys, of the cost with one",
                MANY_KEYS if keys == self.plan.keys[-1] else NO_CLIFF,
                self.find("get-keys", keys=keys), self.find("get-keys"),
            )  # fmt: skip
        bytes_per_pet = self.memory.get("petstore", {}).get(large)
        if bytes_per_pet:
            text = f"Redis memory with {large:,} pets, bytes per pet"
            yield Goal(text, BYTES_PER_PET, bytes_per_pet)

    @staticmethod
    def _ratio(text, bound, row, base):
        return Goal(text, bound, row.sum_us / base.sum_us) if row and base else None
