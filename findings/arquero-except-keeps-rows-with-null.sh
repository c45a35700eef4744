#!/usr/bin/env bash
# arquero: except and intersect of rows with NULL.
#
# The guess: a.except(b) has the rows of a that b does not have, and a.intersect(b) those that both have, as EXCEPT and INTERSECT
# in SQL, for which two NULLs are the same; so a.except(copy of a) is empty. union and dedupe of arquero take NULLs for the same.
# arquero 7.2.1: a row with null or NaN in any column is equal to no row, not even to itself: except keeps it and
# intersect loses it, without an error. Two tables that are equal look different, in the rows with NULL.
# The way round: impute both tables before, with a value that no row has.
#
# Output seen:
#    except: [{"id":2,"v":null}]
#    intersect: [{"id":1,"v":"a"},{"id":3,"v":"c"}]
#    union: [{"id":1,"v":"a"},{"id":2,"v":null},{"id":3,"v":"c"}]
#    except of NaN: 1 row
#    except after impute: []
set -euo pipefail
ARQUERO_VERSION=7.2.1
folder=$(mktemp -d)
trap 'rm -rf "$folder"' EXIT
cd "$folder"
npm install --silent --no-audit --no-fund "arquero@$ARQUERO_VERSION"
cat > except.mjs <<'JS'
import { table } from 'arquero'

const first = table({ id: [1, 2, 3], v: ['a', null, 'c'] })
const second = table({ id: [1, 2, 3], v: ['a', null, 'c'] })
const shown = each => JSON.stringify(each.objects())
console.log('except:', shown(first.except(second)))
console.log('intersect:', shown(first.intersect(second)))
console.log('union:', shown(first.union(second)))
console.log('except of NaN:', table({ v: [NaN, 1] }).except(table({ v: [NaN, 1] })).numRows(), 'row')
const [a, b] = [first, second].map(each => each.impute({ v: () => 'none' }))
console.log('except after impute:', shown(a.except(b)))
JS
node except.mjs > found
cat found
diff found - <<'SEEN'
except: [{"id":2,"v":null}]
intersect: [{"id":1,"v":"a"},{"id":3,"v":"c"}]
union: [{"id":1,"v":"a"},{"id":2,"v":null},{"id":3,"v":"c"}]
except of NaN: 1 row
except after impute: []
SEEN
