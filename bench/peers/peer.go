package main

import (
	"context"
	"fmt"
	"os/exec"
	"slices"
)

// peer is a library that is measured beside Coterie, or one of its configurations.
type peer struct {
	name    string
	command func(ctx context.Context, words []string) *exec.Cmd
	// lacks says of each group that the peer has no such thing, or why it is not measured.
	lacks map[string]string
	// only are the groups that the peer is measured in. Empty: in all.
	only []string
}

// measuredIn reports whether the peer has rows in the group.
func (p *peer) measuredIn(g group) bool { return len(p.only) == 0 || slices.Contains(p.only, g.name) }

// missing are peers that are not measured at all.
var missing = [][2]string{
	{"goakt", "not measured: the module proxy refuses github.com/tochemey/goakt (v3 and v4: \"This module version is " +
		"not available\")"},
	{"ergo", "not measured: the module proxy refuses ergo.services/ergo; it has no virtual actors and no replicated " +
		"data"},
	{"hollywood", "not measured: the module proxy refuses github.com/anthdm/hollywood"},
}

// missingRows says in words what could not be had.
func missingRows() (lines []string) {
	for _, m := range missing {
		lines = append(lines, fmt.Sprint(row{work: work{name: "all"}, by: m[0], words: m[1]}))
	}
	return lines
}

// refusedRows says of each work of some groups why a peer is not measured.
func refusedRows(p *peer, why string, gs []group, o options) (lines []string) {
	for _, g := range gs {
		for _, w := range g.works(o) {
			lines = append(lines, row{work: w, by: p.name, words: why}.String())
		}
	}
	return lines
}
