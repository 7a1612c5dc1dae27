package replicator

import (
	"slices"
	"strings"
)

// MatchKey reports whether a pattern of Config.DurableKeys names a key: it is the key itself, or
// has stars that each stand for any run of bytes.
func MatchKey(pattern, key string) bool { return glob(pattern, key) }

// isGlob reports whether a pattern stands for more than the key of its own name.
func isGlob(pattern string) bool { return strings.Contains(pattern, "*") }

// patterns says which keys are durable.
type patterns struct {
	exact map[string]bool
	globs [][]string // the pieces between stars, of each pattern with at least one
}

func newPatterns(lists ...[]string) patterns {
	p := patterns{exact: map[string]bool{}}
	for _, s := range slices.Concat(lists...) {
		if isGlob(s) {
			p.globs = append(p.globs, strings.Split(s, "*"))
		} else {
			p.exact[s] = true
		}
	}
	return p
}

func (p *patterns) match(key string) bool {
	return len(p.exact) > 0 && p.exact[key] || slices.ContainsFunc(p.globs, func(g []string) bool { return globbed(g, key) })
}

// glob matches key against a pattern whose stars each stand for any run of bytes. Taking each inner
// piece at its first place is right, because the star before the next piece can stretch.
func glob(pattern, key string) bool { return globbed(strings.Split(pattern, "*"), key) }

func globbed(pieces []string, key string) bool {
	first, last := pieces[0], pieces[len(pieces)-1]
	if len(pieces) == 1 {
		return first == key
	}
	if len(key) < len(first)+len(last) || !strings.HasPrefix(key, first) || !strings.HasSuffix(key, last) {
		return false
	}
	key = key[len(first) : len(key)-len(last)]
	for _, piece := range pieces[1 : len(pieces)-1] {
		i := strings.Index(key, piece)
		if i < 0 {
			return false
		}
		key = key[i+len(piece):]
	}
	return true
}
