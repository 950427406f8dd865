"""The results of a run: medians and goals."""

from dataclasses import dataclass
from statistics import median

from cases import CHANGED

# Redis commands per request that still count as none: workers periodically confirm what
# they have cached about a key.
NO_COMMANDS = 0.01
NO_CLIFF = 1.10
CHANGES = 1.05
# With the largest number of keys, each request charges a different account, and nothing
# known about it is in the CPU caches.
MANY_KEYS = 1.20
BYTES_PER_PET = 32
TO_FLOOR = (
    ("get", "get", 1.50),
    ("list-20", "list of 20", 1.50),
    ("list-100", "list of 100", 1.60),
    ("create", "create", 2.10),
    ("denied", "429 storm", 1.15),
)
GUARD = 1.15


@dataclass(frozen=True)
class Row:
    """A cell of one contender. Attributes are the medians of its rounds."""

    cell: object
    contender: str
    samples: list

    def __getattr__(self, name):
        return median(getattr(sample, name) for sample in self.samples)

    def to(self, base):
        """The median, minimum and maximum of the rounds' ratios of CPU time: what slows
        a round slows both."""
        of = base.by_round()
        ratios = [cost / of[number] for number, cost in self.by_round().items() if number in of]
        return median(ratios), min(ratios), max(ratios)

    def by_round(self):
        rounds = {}
        for sample in self.samples:
            rounds.setdefault(sample.number, []).append(sample.sum_us)
        return {number: median(costs) for number, costs in rounds.items()}


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
            (row.contender, row.cell.case.name, row.cell.size, row.cell.keys, row.cell.rate): row
            for row in rows
        }

    def find(self, case, contender="petstore", size=None, keys=1, rate=0):
        """The row of a case, or None if it was not measured."""
        return self._index.get((contender, case, size or self.plan.size, keys, rate))

    def floor(self, rate=0):
        return self.find("floor", "floor", rate=rate)

    def to_floor(self, row):
        floor = self.floor(row.cell.rate)
        return row.to(floor)[0] if floor else None

    def to_lua(self, row):
        cell = row.cell
        lua = self.find(cell.case.name, "lua", cell.size, cell.keys, cell.rate)
        return row.to(lua)[0] if lua and lua is not row else None

    def to_before(self, row):
        """Median, minimum and maximum of the rounds' ratios; None without --before."""
        cell = row.cell
        before = self.find(cell.case.name, "before", cell.size, cell.keys, cell.rate)
        if not before or row.contender != "petstore":
            return None
        return row.to(before)

    @property
    def foreign(self):
        return median(sample.foreign for row in self.rows for sample in row.samples)

    def goals(self):
        return [goal for goal in self._goals() if goal]

    def _goals(self):
        for rate in (0, self.plan.rate):
            pace = f", at {rate:,} requests/s" if rate else ""
            for case, text, bound in TO_FLOOR:
                yield self._ratio(
                    f"{text}, of nginx's floor{pace}",
                    bound, self.find(case, rate=rate), self.floor(rate),
                )  # fmt: skip
            yield self._ratio(
                f"proxy_pass, guarded, of that not guarded{pace}",
                GUARD, self.find("guarded", rate=rate), self.find("proxied", rate=rate),
            )  # fmt: skip
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
                CHANGES, self.find(changed.name), self.find(case.name),
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
        return Goal(text, bound, row.to(base)[0]) if row and base else None
