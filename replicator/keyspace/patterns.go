package keyspace

import (
	"slices"
	"strings"
)

// IsPattern reports whether a pattern stands for more than the key of its own name.
func IsPattern(pattern string) bool { return strings.Contains(pattern, "*") }

// Patterns names keys. It never changes.
type Patterns struct {
	exact map[string]bool
	globs [][]string // the pieces between stars, of each pattern with at least one
}

// NewPatterns makes one of several lists of patterns.
func NewPatterns(lists ...[]string) Patterns {
	p := Patterns{exact: map[string]bool{}}
	for _, s := range slices.Concat(lists...) {
		if IsPattern(s) {
			p.globs = append(p.globs, strings.Split(s, "*"))
		} else {
			p.exact[s] = true
		}
	}
	return p
}

// Match reports whether one of them names a key.
func (p *Patterns) Match(key string) bool {
	return len(p.exact) > 0 && p.exact[key] ||
		slices.ContainsFunc(p.globs, func(g []string) bool { return globbed(g, key) })
}

// Match reports whether a pattern names a key: it is the key itself, or has stars that each stand
// for any run of bytes.
func Match(pattern, key string) bool { return globbed(strings.Split(pattern, "*"), key) }

// globbed takes each inner piece at its first place. That is right, because the star before the
// next piece can stretch.
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
