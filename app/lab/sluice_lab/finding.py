# SPDX-License-Identifier: BSD-3-Clause
"""Findings: statements of papers, the results here, and whether they agree.

The functions of `ours` evaluate the rows of all runs. Besides a measure they take filters: a parameter's
name with a value or a list of values (load=5, scheme=[single, dual]), and sweep=NAME.
"""
import math
import statistics
from collections.abc import Callable, Iterable, Sequence
from typing import Any, NotRequired, TextIO, TypedDict

from . import NoRuns, expr
from .conf import Experiment, Section
from .store import Row


class Verdict(TypedDict):
    """A [finding] with its result."""
    finding: str
    says: str
    paper: expr.Value | None
    ours: float | None
    unit: str
    holds: bool | None  # None: it was not judged
    wanted: str
    note: str
    differs: str  # the reason why it does not hold, if `ours` is in the range `known`
    known: str
    why: str  # the reason why it was not judged
    quick: NotRequired[bool]  # True: a quick run cannot judge it


class Table:
    """The rows of an experiment, and the functions over them. Filters are values or lists of them."""

    def __init__(self, rows: Sequence[Row]) -> None:
        self.rows = rows

    def select(self, sweep: str | list[str] | None = None, **filters: Any) -> list[Row]:
        sweeps = sweep if sweep is None or isinstance(sweep, list) else [sweep]
        rows = [r for r in self.rows if sweeps is None or r["sweep"] in sweeps]
        if self.rows and not rows:
            raise NoRuns(f"no run belongs to a sweep {sweep}")
        for name, wanted in filters.items():
            wanted = wanted if isinstance(wanted, list) else [wanted]
            if rows and name not in rows[0]["set"]:
                raise ValueError(f"there is no parameter {name}")
            rows = [r for r in rows if any(expr.same(r["set"][name], w) for w in wanted)]
        return rows

    def values(self, measure: str, **filters: Any) -> list[float]:
        rows = self.select(**filters)
        if not rows:
            raise NoRuns(f"no run fits these filters of {measure}")
        if measure not in rows[0]["set"] and not any(measure in r["values"] for r in rows):
            raise ValueError(f"there is no measure {measure}; there are: {', '.join(sorted(rows[0]['values']))}")
        return [v for v in (self.of(r, measure) for r in rows) if v is not None]

    def statistic(self, function: Callable[[list[float]], float], count_min: int = 1) -> Callable[..., float]:
        """The function of a measure's values; nan if there are fewer than count_min."""
        def call(measure: str, **filters: Any) -> float:
            values = self.values(measure, **filters)
            return function(values) if len(values) >= count_min else math.nan
        return call

    def quantile(self, measure: str, q: float, **filters: Any) -> float:
        return quantile(self.values(measure, **filters), q)

    def of(self, row: Row, measure: str) -> float | None:
        """A measure or parameter of one run; None: the run does not have it."""
        return float(row["set"][measure]) if measure in row["set"] else row["values"].get(measure)

    def grouped(self, measure: str, by: str | list[str], **filters: Any) -> dict[tuple[str, ...], list[float]]:
        """{values of the parameters `by`: the measure's values in their runs}; not empty."""
        names = by if isinstance(by, list) else [by]
        self.values(measure, **filters)  # for the errors that it raises
        found: dict[tuple[str, ...], list[float]] = {}
        for row in self.select(**filters):
            for name in names:
                if name not in row["set"]:
                    raise ValueError(f"there is no parameter {name}")
            value = self.of(row, measure)
            if value is not None:
                found.setdefault(tuple(row["set"][name] for name in names), []).append(value)
        if not found:
            raise NoRuns(f"no run that fits has a value of {measure}")
        return found

    def groups(self, measure: str, by: str | list[str], **filters: Any) -> dict[tuple[str, ...], float]:
        """{values of the parameters `by`: the measure's mean}"""
        return {k: statistics.fmean(v) for k, v in self.grouped(measure, by, **filters).items()}

    def mean_deviation(self, measure: str, by: str | list[str], **filters: Any) -> float:
        """The mean, over the values of `by`, of the deviation within the runs of one value."""
        return statistics.fmean([statistics.pstdev(v) for v in self.grouped(measure, by, **filters).values()])

    def wide(self, measure: str, share: float, by: str | list[str], **filters: Any) -> float:
        """The part of a grid's points whose mean reaches that share of the best one."""
        means = self.groups(measure, by, **filters)
        best = max(means.values())
        return sum(m >= share * best for m in means.values()) / len(means)

    def most_over(self, measure: str, by: str, name: str, value: Any, **filters: Any) -> float:
        """For each value of `by`: the measure in a run whose parameter `name` has another value, divided by its
        mean in the runs where `name` has this value. The largest of these ratios."""
        base = self.groups(measure, by, **{**filters, name: value})
        ratios = []
        for r in self.select(**filters):
            found, group = self.of(r, measure), (r["set"][by],)
            if not expr.same(r["set"][name], value) and found is not None and group in base:
                ratios.append(found / base[group])
        if not ratios:
            raise NoRuns(f"no run has another {name} than {value}")
        return max(ratios)

    def least_ratio(self, measure: str, other: str, **filters: Any) -> float:
        """The least ratio of a measure to another measure, or to a parameter, in single runs."""
        for name in (measure, other):
            self.values(name, **filters)  # for the errors that it raises
        pairs = [(self.of(r, measure), self.of(r, other)) for r in self.select(**filters)]
        return min((a / b for a, b in pairs if a is not None and b is not None), default=math.nan)

    def last(self, measure: str, value: float, by: str, **filters: Any) -> expr.Value:
        """The largest value of the parameter `by` up to which each mean equals `value`."""
        means = sorted((expr.number(k[0]), v) for k, v in self.groups(measure, by, **filters).items())
        found: expr.Value = math.nan
        for at, mean in means:
            if mean != value:
                break
            found = at
        return found

    def best(self, measure: str, by: str | list[str], **filters: Any) -> float:
        """The largest mean of a grid."""
        return max(self.groups(measure, by, **filters).values())

    def course(self, name: str, since: float = -math.inf, until: float = math.inf, **filters: Any) -> list[float]:
        """All values of a series from since to until, in seconds."""
        fitting = self.select(**filters)
        if not fitting:
            raise NoRuns(f"no run fits these filters of {name}")
        rows = [r for r in fitting if name in r["series"]]
        if not rows:
            raise ValueError(f"no run that fits has kept the series {name}; name it in \"series\" of its [sweep]")
        return [v for r in rows for t, v in zip(r["series"][name]["t"], r["series"][name]["v"])
                if since <= t < until and v is not None]

    def course_statistic(self, function: Callable[[list[float]], float]) -> Callable[..., float]:
        def call(name: str, since: float = -math.inf, until: float = math.inf, **filters: Any) -> float:
            values = self.course(name, since, until, **filters)
            return function(values) if values else math.nan
        return call

    def functions(self) -> dict[str, Callable[..., Any]]:
        """The functions that an expression may call."""
        return {
            "mean": self.statistic(statistics.fmean), "median": self.statistic(statistics.median),
            "deviation": self.statistic(statistics.stdev, 2), "least": self.statistic(min),
            "most": self.statistic(max), "total": self.statistic(math.fsum, 0),
            "count": lambda measure, **f: len(self.values(measure, **f)),
            "quantile": self.quantile, "wide": self.wide, "mean_deviation": self.mean_deviation,
            "best": self.best, "last": self.last, "least_ratio": self.least_ratio, "most_over": self.most_over,
            "series_mean": self.course_statistic(statistics.fmean),
            "series_median": self.course_statistic(statistics.median),
            "series_most": self.course_statistic(max), "series_least": self.course_statistic(min),
            "series_count": lambda name, **f: len(self.course(name, **f)),
            "series_quantile": lambda name, q, **f: quantile(self.course(name, **f), q),
        }


def quantile(values: list[float], q: float) -> float:
    """The value that a part q of the values is below, with linear interpolation: the least at 0, the median at
    1/2, the largest at 1. It is that of statistics.quantiles(method="inclusive"), but for any q."""
    if not 0 <= q <= 1:
        raise ValueError(f"a quantile is between 0 and 1; {q} is not")
    if not values:
        return math.nan
    values = sorted(values)
    below = min(math.floor(q * (len(values) - 1)), max(len(values) - 2, 0))
    above = min(below + 1, len(values) - 1)
    return values[below] + (values[above] - values[below]) * (q * (len(values) - 1) - below)


def within(section: Section, ours: float, paper: float) -> bool:
    text = section.need("tolerance")
    try:
        room = float(text.rstrip("%")) * (abs(paper) / 100 if text.endswith("%") else 1)
    except ValueError:
        section.error("tolerance", f"\"{text}\" is not a tolerance; write 30% or a number in the finding's unit")
    return abs(ours - paper) <= room


def paper_of(section: Section) -> expr.Value | None:
    return expr.number(section.need("paper")) if "paper" in section.keys else None


def result(section: Section, ours: float | None, holds: bool | None, known: str = "", differs: str = "",
           why: str = "") -> Verdict:
    return {"finding": section.name, "says": section.need("says"), "paper": paper_of(section), "ours": ours,
            "unit": section.get("unit", ""), "holds": holds,
            "wanted": section.get("holds") or f"within {section.keys.get('tolerance')}",
            "note": section.get("note", ""), "differs": differs, "known": known, "why": why}


def judge(section: Section, table: Table) -> Verdict:
    where = f"{section.file}:{section.lines.get('ours', section.line)}: [{section.title}] ours"
    paper = paper_of(section)

    def nothing(name: str) -> Any:
        raise KeyError(name)

    ours = expr.evaluate(section.need("ours"), nothing, where, table.functions())
    if not isinstance(ours, (int, float)):
        section.error("ours", f"the value of \"{section.keys['ours']}\" is not a number; correct it")
    if math.isnan(ours):
        holds = False
    elif "holds" in section.keys:
        known = {"ours": ours, "paper": paper}
        holds = bool(expr.evaluate(section.keys["holds"], known.__getitem__, where, table.functions()))
    elif isinstance(paper, (int, float)):
        holds = within(section, ours, paper)
    else:
        section.error("paper", "is not a number; give \"holds = EXPRESSION\" instead of a tolerance")
    if holds or "known" not in section.keys:
        return result(section, None if math.isnan(ours) else ours, holds)
    # The reason excuses only the values that it was written for.
    as_known = not math.isnan(ours) and bool(
        expr.evaluate(section.keys["known"], {"ours": ours, "paper": paper}.__getitem__, where, table.functions()))
    return result(section, None if math.isnan(ours) else ours, holds, known=section.keys["known"],
                  differs=section.keys["differs"] if as_known else "")


def judge_all(experiment: Experiment, rows: Sequence[Row], quick: bool = False, lenient: bool = False) -> list[Verdict]:
    """All findings. Two kinds are not judged: those that a quick run cannot judge, and, if lenient, those that
    have no runs because of --set. Their `holds` is None, and `why` gives the reason."""
    table = Table(rows)
    found: list[Verdict] = []
    for s in experiment.all("finding"):
        if quick and s.get("quick", "yes") == "no":
            verdict = result(s, None, None, why="a quick run cannot judge it")
            verdict["quick"] = True
            found.append(verdict)
            continue
        try:
            found.append(judge(s, table))
        except NoRuns as e:
            if not lenient:
                s.error("ours", f"{e}; correct it")
            found.append(result(s, None, None, why=str(e)))
    return found


def judged(findings: Iterable[Verdict]) -> list[Verdict]:
    return [f for f in findings if f["holds"] is not None]


def status(findings: Sequence[Verdict]) -> int:
    """The exit status. 1: a finding fails. 3: none fails, but one was not judged for another reason than a quick
    run, or none was judged. 0: all hold."""
    if any(f["holds"] is False for f in findings):
        return 1
    unjudged = len(findings) > 0 and not judged(findings)
    return 3 if any(f["holds"] is None and not f.get("quick") for f in findings) or unjudged else 0


def text(value: expr.Value | None) -> str:
    if value is None:
        return "-"
    if isinstance(value, float):
        return f"{value:.3g}" if abs(value) < 1000 else f"{value:,.0f}"
    return str(value)


def show(findings: Iterable[Verdict], out: TextIO) -> None:
    for f in findings:
        if f["holds"] is None:
            print(f"  ------ {f['says']}: not judged: {f['why']}", file=out)
            continue
        unit = f" {f['unit']}" if f["unit"] else ""
        paper = f"; paper {text(f['paper'])}{unit}" if f["paper"] is not None else ""
        print(f"  {'holds ' if f['holds'] else 'FAILS '} {f['says']}: {text(f['ours'])}{unit}{paper} ({f['wanted']})",
              file=out)
        if f["differs"]:
            print(f"         known ({f['known']}): {f['differs']}", file=out)
        elif f["known"]:
            print(f"         and not as it is known to differ ({f['known']})", file=out)
