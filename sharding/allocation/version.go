package allocation

import (
	"cmp"
	"slices"
	"strings"
)

// compareVersions orders app versions: dot-separated parts, numbers by value and before words.
func compareVersions(x, y string) int {
	if x == y {
		return 0
	}
	cut := func(r rune) bool { return r == '.' || r == '-' || r == '+' }
	return slices.CompareFunc(strings.FieldsFunc(x, cut), strings.FieldsFunc(y, cut), func(p, q string) int {
		np, nq := number(p), number(q)
		if np && nq {
			p, q = strings.TrimLeft(p, "0"), strings.TrimLeft(q, "0")
			return cmp.Or(cmp.Compare(len(p), len(q)), cmp.Compare(p, q))
		}
		if np != nq {
			if np {
				return -1
			}
			return 1
		}
		return cmp.Compare(p, q)
	})
}

func number(s string) bool {
	return s != "" && strings.IndexFunc(s, func(r rune) bool { return r < '0' || r > '9' }) < 0
}
