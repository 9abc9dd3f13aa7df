#!/usr/bin/env python3
# SPDX-License-Identifier: MIT
"""watched.py METRICS DASHBOARD RULES: does what psup metrics prints (format
text) have everything that the dashboard and the alerts ask for? Prints what is
wrong, a line each; to $OUT, if it is set, a file of rules with every expression
of the dashboard, for promtool to parse."""
import json
import os
import re
import sys

metrics, dashboard, rules = (open(f, encoding="utf-8").read() for f in sys.argv[1:4])
labels = {}  # of each sample
for name, inner in re.findall(r"^(psup_\w+)(?:\{(.*)\})? ", metrics, re.M):
    labels.setdefault(name, set()).update(re.findall(r'(\w+)="', inner))
families = re.findall(r"^# TYPE (\S+)", metrics, re.M)
wrong = []


def look(where, expr):
    used = set()
    for name, inner in re.findall(r"\b(psup_\w+)(?:\{([^}]*)\})?", expr):
        if name not in labels:
            wrong.append(f"{where}: there is no {name}")
            continue
        used |= labels[name]
        for label in re.findall(r"(\w+) *[=!]~?", inner):
            if label not in labels[name] | {"job", "instance"}:
                wrong.append(f"{where}: {name} has no label {label}")
    for inner in re.findall(r"\b(?:by|on) \(([^)]*)\)", expr):
        for label in inner.split(", "):
            if label not in used | {"job", "instance"}:
                wrong.append(f"{where}: nothing there has a label {label}")
    return used | {"job", "instance"}


d = json.loads(dashboard)
exprs, ids, taken, shown = [], set(), {}, ""
variables = {v["name"] for v in d["templating"]["list"]} | {"__rate_interval"}
for p in d["panels"]:
    title = p["title"]
    if p["id"] in ids:
        wrong.append(f"{title}: a further panel {p['id']}")
    ids.add(p["id"])
    g = p["gridPos"]
    for x in range(g["x"], g["x"] + g["w"]):
        for y in range(g["y"], g["y"] + g["h"]):
            if x >= 24 or (x, y) in taken:
                wrong.append(f"{title}: covers {taken.get((x, y), 'the edge')}")
            taken[x, y] = title
    for t in p.get("targets", []):
        for v in re.findall(r"\$(\w+)", t["expr"]):
            if v not in variables:
                wrong.append(f"{title}: there is no variable {v}")
        used = look(title, t["expr"])
        for label in re.findall(r"\{\{(\w+)\}\}", t["legendFormat"]):
            if label not in used:
                wrong.append(f"{title}: a legend of {label}")
        shown += t["expr"] + "\n"
        exprs.append(t["expr"].replace("$__rate_interval", "1m"))
for v in d["templating"]["list"]:
    if v["type"] == "query":
        look("variable " + v["name"], v["query"]["query"])
for f in families:
    if not re.search(rf"\b{f}(_bucket)?\b", shown):
        wrong.append(f"the dashboard does not show {f}")
alerts = re.findall(r"^ *expr: (.*)$", rules, re.M)
for a in alerts:
    look(a, a)
if len(exprs) < 30 or len(alerts) != len(re.findall("- alert:", rules)):
    wrong.append(f"only {len(exprs)} expressions, {len(alerts)} alerts were found")
if os.environ.get("OUT"):
    with open(os.environ["OUT"], "w", encoding="utf-8") as f:
        group = [{"record": f"x:{i}", "expr": e} for i, e in enumerate(exprs)]
        json.dump({"groups": [{"name": "g", "rules": group}]}, f)
print("\n".join(wrong), end="\n" if wrong else "")
