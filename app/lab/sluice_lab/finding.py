# SPDX-License-Identifier: BSD-3-Clause
"""Findings: what a paper says beside what came out here, and whether that holds.

The functions of `ours` look at the rows of all runs. Beside the measure they take filters: a parameter's
name and a value or list of values (load=5, scheme=[single, dual]), and sweep=NAME.
"""
import math
import statistics

from . import NoRuns, expr


def same(a, b):
    a, b = expr.number(str(a)), expr.number(str(b))
    if isinstance(a, str) or isinstance(b, str):
        return str(a) == str(b)
    return math.isclose(a, b, rel_tol=1e-9)


class Table:
    """The rows of an experiment, and the functions over them."""

    def __init__(self, rows):
        self.rows = rows

    def select(self, sweep=None, **filters):
        sweeps = sweep if isinstance(sweep, list) else [sweep]
        rows = [r for r in self.rows if sweep is None or r["sweep"] in sweeps]
        if self.rows and not rows:
            raise NoRuns(f"no run is of a sweep {sweep}")
        for name, wanted in filters.items():
            wanted = wanted if isinstance(wanted, list) else [wanted]
            if rows and name not in rows[0]["set"]:
                raise ValueError(f"there is no parameter {name}")
            rows = [r for r in rows if any(same(r["set"][name], w) for w in wanted)]
        return rows

    def values(self, measure, **filters):
        rows = self.select(**filters)
        if not rows:
            raise NoRuns(f"no run fits these filters of {measure}")
        if measure not in rows[0]["set"] and not any(measure in r["values"] for r in rows):
            raise ValueError(f"there is no measure {measure}; there are: {', '.join(sorted(rows[0]['values']))}")
        return [v for v in (self.of(r, measure) for r in rows) if v is not None]

    def statistic(self, function, least=1):
        def call(measure, **filters):
            values = self.values(measure, **filters)
            return function(values) if len(values) >= least else math.nan
        return call

    def quantile(self, measure, q, **filters):
        return quantile(self.values(measure, **filters), q)

    def of(self, row, measure):
        """A measure or parameter of one run; None: it has none."""
        return float(row["set"][measure]) if measure in row["set"] else row["values"].get(measure)

    def grouped(self, measure, by, **filters):
        """{values of the parameters `by`: the measure's of its runs}; there are some."""
        by = by if isinstance(by, list) else [by]
        self.values(measure, **filters)  # which tells what is wrong with measure and filters
        found = {}
        for row in self.select(**filters):
            for b in by:
                if b not in row["set"]:
                    raise ValueError(f"there is no parameter {b}")
            if self.of(row, measure) is not None:
                found.setdefault(tuple(row["set"][b] for b in by), []).append(self.of(row, measure))
        if not found:
            raise NoRuns(f"no run that fits has a {measure}")
        return found

    def groups(self, measure, by, **filters):
        """{values of by: mean}"""
        return {k: statistics.fmean(v) for k, v in self.grouped(measure, by, **filters).items()}

    def mean_deviation(self, measure, by, **filters):
        """The deviation within the runs of each value of `by`, in mean."""
        return statistics.fmean([statistics.pstdev(v) for v in self.grouped(measure, by, **filters).values()])

    def wide(self, measure, share, by, **filters):
        """How many of the points of a grid, in mean, reach that share of the best one; as a part of all."""
        means = self.groups(measure, by, **filters)
        best = max(means.values())
        return sum(m >= share * best for m in means.values()) / len(means)

    def most_over(self, measure, by, name, value, **filters):
        """For each value of `by`: the largest measure of runs whose parameter `name` is something else,
        over the mean of those where it is that value. The largest of these."""
        base = self.groups(measure, by, **{**filters, name: value})
        ratios = [self.of(r, measure) / base[(r["set"][by],)] for r in self.select(**filters)
                  if not same(r["set"][name], value) and self.of(r, measure) is not None and (r["set"][by],) in base]
        if not ratios:
            raise NoRuns(f"no run has another {name} than {value}")
        return max(ratios)

    def least_ratio(self, measure, other, **filters):
        """The least of a measure over another, or over a parameter, of single runs."""
        self.values(measure, **filters), self.values(other, **filters)
        pairs = [(self.of(r, measure), self.of(r, other)) for r in self.select(**filters)]
        return min((a / b for a, b in pairs if a is not None and b is not None), default=math.nan)

    def last(self, measure, value, by, **filters):
        """The largest value of a parameter up to which every mean is that value."""
        means = sorted((expr.number(k[0]), v) for k, v in self.groups(measure, by, **filters).items())
        found = math.nan
        for at, mean in means:
            if mean != value:
                break
            found = at
        return found

    def best(self, measure, by, **filters):
        """The largest mean over a grid."""
        return max(self.groups(measure, by, **filters).values())

    def course(self, name, since=-math.inf, until=math.inf, **filters):
        """All values of a series within a time."""
        fitting = self.select(**filters)
        if not fitting:
            raise NoRuns(f"no run fits these filters of {name}")
        rows = [r for r in fitting if name in r["series"]]
        if not rows:
            raise ValueError(f"no run that fits has kept the series {name}; name it in \"series\" of its [sweep]")
        return [v for r in rows for t, v in zip(r["series"][name]["t"], r["series"][name]["v"])
                if since <= t < until and v is not None]

    def course_statistic(self, function):
        def call(name, since=-math.inf, until=math.inf, **filters):
            values = self.course(name, since, until, **filters)
            return function(values) if values else math.nan
        return call

    def functions(self):
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


def quantile(values, q):
    """The value below which a part q of them is, between two in proportion: the least at 0, the median at
    1/2, the largest at 1; as statistics.quantiles(method="inclusive"), of any q."""
    if not 0 <= q <= 1:
        raise ValueError(f"a quantile is one of 0 to 1, not of {q}")
    if not values:
        return math.nan
    values = sorted(values)
    below = min(math.floor(q * (len(values) - 1)), max(len(values) - 2, 0))
    above = min(below + 1, len(values) - 1)
    return values[below] + (values[above] - values[below]) * (q * (len(values) - 1) - below)


def within(section, ours, paper):
    text = section.need("tolerance")
    try:
        room = float(text.rstrip("%")) * (abs(paper) / 100 if text.endswith("%") else 1)
    except ValueError:
        section.error("tolerance", f"\"{text}\" is no tolerance; write 30% or a number in the finding's unit")
    return abs(ours - paper) <= room


def paper_of(section):
    return expr.number(section.get("paper", "")) if "paper" in section.keys else None


def result(section, ours, holds, **more):
    return {"finding": section.name, "says": section.need("says"), "paper": paper_of(section), "ours": ours,
            "unit": section.get("unit", ""), "holds": holds,
            "wanted": section.get("holds") or f"within {section.keys.get('tolerance')}",
            "note": section.get("note", ""), "differs": "", "known": "", "why": "", **more}


def judge(section, table):
    """{finding, says, paper, ours, unit, holds, ...} of one [finding]."""
    where = f"{section.file}:{section.lines.get('ours', section.line)}: [{section.title}] ours"
    paper = paper_of(section)

    def nothing(name):
        raise KeyError(name)

    ours = expr.evaluate(section.need("ours"), nothing, where, table.functions())
    if not isinstance(ours, (int, float)):
        section.error("ours", f"\"{section.keys['ours']}\" gives no number; correct it")
    if math.isnan(ours):
        holds = False
    elif "holds" in section.keys:
        known = {"ours": ours, "paper": paper}
        holds = bool(expr.evaluate(section.keys["holds"], known.__getitem__, where, table.functions()))
    elif isinstance(paper, (int, float)):
        holds = within(section, ours, paper)
    else:
        section.error("paper", "is no number; give \"holds = EXPRESSION\" instead of a tolerance")
    if holds or "known" not in section.keys:
        return result(section, None if math.isnan(ours) else ours, holds)
    # The reason excuses what it was written for, and nothing else.
    as_known = not math.isnan(ours) and bool(
        expr.evaluate(section.keys["known"], {"ours": ours, "paper": paper}.__getitem__, where, table.functions()))
    return result(section, None if math.isnan(ours) else ours, holds, known=section.keys["known"],
                  differs=section.keys["differs"] if as_known else "")


def judge_all(experiment, rows, quick=False, lenient=False):
    """All findings. Those that a quick run cannot tell, or, if lenient, that no run is for since the user
    has set otherwise, are not judged: holds is None, and why says so."""
    table, found = Table(rows), []
    for s in experiment.all("finding"):
        if quick and s.get("quick", "yes") == "no":
            found.append(result(s, None, None, why="a quick run cannot tell", quick=True))
            continue
        try:
            found.append(judge(s, table))
        except NoRuns as e:
            if not lenient:
                s.error("ours", f"{e}; correct it")
            found.append(result(s, None, None, why=str(e)))
    return found


def judged(findings):
    return [f for f in findings if f["holds"] is not None]


def status(findings):
    """The exit status: 1 if one fails; 3 if one could not be judged, other than by a quick run's nature;
    0: all hold."""
    if any(f["holds"] is False for f in findings):
        return 1
    return 3 if any(f["holds"] is None and not f.get("quick") for f in findings) or (findings and not judged(findings)) else 0


def text(value):
    if value is None:
        return "-"
    if isinstance(value, float):
        return f"{value:.3g}" if abs(value) < 1000 else f"{value:,.0f}"
    return str(value)


def show(findings, out):
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
