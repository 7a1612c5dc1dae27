package view

import (
	"errors"
	"fmt"
	"slices"
	"strings"
	"unicode/utf8"
)

// MergePatterns returns the patterns of both, sorted, each once.
func MergePatterns(a, b []string) []string {
	all := slices.Concat(a, b)
	slices.Sort(all)
	return slices.Compact(all)
}

// CutPatterns returns the patterns of a that are not in b.
func CutPatterns(a, b []string) []string {
	return slices.DeleteFunc(slices.Clone(a), func(p string) bool { return slices.Contains(b, p) })
}

// CheckPatterns holds patterns to their order and bounds.
func CheckPatterns(ps []string) error {
	bytes := 0
	for i, p := range ps {
		if bytes += 3 + len(p); p == "" || !utf8.ValidString(p) || i > 0 && ps[i-1] >= p {
			return fmt.Errorf("pattern %.40q of durable keys is empty, not UTF-8 or out of order", p)
		}
	}
	if len(ps) > PatternsMax || bytes > RoomOfPatterns {
		return fmt.Errorf("%d patterns of durable keys with %d bytes, at most %d with %d",
			len(ps), bytes, PatternsMax, RoomOfPatterns)
	}
	return nil
}

// checkMoves holds what a view says of durable keys to its invariants.
func checkMoves(v *View) error {
	both := MergePatterns(v.Durable, v.Moving)
	switch {
	case len(both) != len(v.Durable)+len(v.Moving):
		return errors.New("view: a pattern is durable and moving, or given twice")
	case len(v.Moving) > 0 && v.Moves == 0:
		return errors.New("view: a move without a number")
	}
	return errors.Join(CheckPatterns(v.Durable), CheckPatterns(v.Moving), CheckPatterns(both))
}

// RefusesPatterns says why the patterns of a joiner cannot be agreed on; empty: they can.
func (v *View) RefusesPatterns(patterns []string) string {
	known := MergePatterns(v.Durable, v.Moving)
	if len(CutPatterns(patterns, known)) == 0 {
		return ""
	}
	if v.Moves == MovesMax {
		return fmt.Sprintf("durable keys were added %d times already, which is as often as they can be", MovesMax)
	}
	if err := CheckPatterns(MergePatterns(known, patterns)); err != nil {
		return "a view has to be stored and sent, and with this node it has " + err.Error()
	}
	return ""
}

// TakesPatterns reports whether a joiner that brings patterns can be let in now: not while the data
// of other keys moves.
func (v *View) TakesPatterns(patterns []string, parent *View) bool {
	if len(CutPatterns(patterns, MergePatterns(v.Durable, v.Moving))) == 0 {
		return true
	}
	return (len(v.Moving) == 0 || v.Moves != parent.Moves) && v.RefusesPatterns(patterns) == ""
}

// BeginMove makes what a joiner brings move, if it is new.
func (v *View) BeginMove(patterns []string, parent *View) {
	more := CutPatterns(patterns, MergePatterns(v.Durable, v.Moving))
	if len(more) == 0 {
		return
	}
	if v.Moves == parent.Moves {
		v.Moves++
	}
	v.Moving = MergePatterns(v.Moving, more)
}

// ofRole parts the role of a pattern that is about one role only from the pattern. No user's pattern has it.
const ofRole = "\x00"

// OfRole is a pattern of durable keys that is about one role only, as views have it.
func OfRole(role, pattern string) string { return role + ofRole + pattern }

// CheckUsers returns an error if a user's key or pattern could be taken for one of a role.
func CheckUsers(pattern string) error {
	if strings.Contains(pattern, ofRole) {
		return errors.New("has a byte of zero")
	}
	return nil
}

// PatternsOf are the patterns that are about a role, those for all roles among them, as keys are matched
// with them.
func PatternsOf(patterns []string, role string) (of []string) {
	for _, p := range patterns {
		r, own, ok := strings.Cut(p, ofRole)
		switch {
		case !ok:
			of = append(of, p)
		case r == role:
			of = append(of, own)
		}
	}
	return MergePatterns(of, nil)
}

// Shown are patterns as people read them.
func Shown(patterns []string) []string {
	shown := make([]string, len(patterns))
	for i, p := range patterns {
		if shown[i] = p; strings.Contains(p, ofRole) {
			role, own, _ := strings.Cut(p, ofRole)
			shown[i] = own + " of role " + role
		}
	}
	return shown
}
