#!/usr/bin/env bash
# A table of strings and numbers: adult.py trains a model of it, with which C, Python and the command answer alike. Leaves
# adult.keras and C's answers, adult.txt, for tests of other languages.   table.sh TABLE_SERVE [DL4]; 77: there is no NumPy
set -euo pipefail
here=$(cd "$(dirname "${BASH_SOURCE[0]}")" && pwd)
python=${DL4_PYTHON:-python3} table=$here/adult.csv
"$python" -c 'import numpy' 2>/dev/null || { echo "skipped: no Python with NumPy"; exit 77; }
export PYTHONPATH=$here/../bindings/python PYTHONDONTWRITEBYTECODE=1
"$python" "$here/../bindings/python/examples/adult.py" "$table" 0 adult.keras | tail -n 1
"$1" adult.keras <"$table" >adult.txt
"$python" - "$table" <<'END' | diff - adult.txt
import csv, sys, dl4.keras
rows = list(csv.DictReader(open(sys.argv[1])))
model = dl4.keras.models.load_model("adult.keras")
types = {"float32": float, "int32": int, "string": str}
columns = {x.name: [types[x.dtype](row[x.name]) for row in rows] for x in model.inputs}
for (answer,) in model(columns):
    print(f"{answer:.9f}")
END
paste -d, "$table" <(echo answer; cat adult.txt) |
  awk -F, 'NR > 1 && ($NF > 0.5) == $(NF - 1) { n++ } END { print n " right"; exit NR != 601 || n < 480 }'
[ -n "${2:-}" ] || exit 0
# The command on the same columns; it runs a batch at once, whose sums may end differently in the last bits.
"$2" run adult.keras --csv "$table" | paste -d, - <(echo 0; cat adult.txt) |
  awk -F, 'NR > 1 && ($1 - $2) ^ 2 > 1e-10 { exit 1 } END { exit NR != 601 }'
tail -n +2 "$table" >rows.csv
"$2" train adult.keras --data rows.csv --columns "$(head -n 1 "$table")" --target income --loss BinaryCrossentropy \
  --metric accuracy --epochs 3 --save more.keras
"$2" run more.keras --csv rows.csv --columns "$(head -n 1 "$table")" | awk 'END { exit NR != 601 }'
