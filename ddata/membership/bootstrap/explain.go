package bootstrap

import (
	"fmt"
	"slices"
	"strings"
	"time"

	"github.com/coterie-go/coterie/ddata/membership/view"
)

// This file explains why no cluster is founded: which nodes were expected, heard and missing, and
// what to do.

// tooFew: not all that found the cluster were heard.
func (c *candidates) tooFew(now time.Time, probes []Probe, targets []string) string {
	text := fmt.Sprintf("expected %d nodes to found a cluster (BootstrapExpect), heard %d%s%s%s",
		c.cfg.Expect, len(probes),
		listed(": ", addrsOf(probes)), listed("; no answer from ", c.silent(targets)), unlike(probes))
	if one := c.oneWay(now, probes); one != "" {
		return text + one
	}
	return text + "; start the others, or check Seeds and that each can dial the others' addresses"
}

// oneWay names the nodes that were heard and do not count, because one of the two does not reach
// the other at the address that it advertises.
func (c *candidates) oneWay(now time.Time, probes []Probe) (text string) {
	var astray, deaf []string
	for _, p := range probes {
		f, other := c.get(p.Self.UID)
		switch {
		case !other || c.hardlyCame(now, f):
		case !f.direct:
			astray = append(astray, p.Self.Addr)
		case !f.hears(c.cfg.Self.UID):
			deaf = append(deaf, fmt.Sprintf("%s does not hear %s", p.Self.Addr, c.cfg.Self.Addr))
		}
	}
	slices.Sort(astray)
	slices.Sort(deaf)
	if len(astray) > 0 {
		text = fmt.Sprintf("; but this node is not reached at the address that it advertises, %s%s: check that the "+
			"others can dial it", c.cfg.Self.Addr,
			listed(", by ", astray))
	}
	if len(deaf) > 0 {
		text += "; but " + strings.Join(atMost(deaf), "; ") +
			": each must hear all, check that they can dial each other's addresses"
	}
	return text
}

// nothingToJoin: this node founds no cluster, and has heard of none.
func (c *candidates) nothingToJoin(targets []string) string {
	var seeking []Probe
	for _, f := range c.of {
		seeking = append(seeking, f.probe)
	}
	return fmt.Sprintf("no cluster was heard of, and BootstrapExpect 0 founds none%s%s; start the founders, or "+
		"check Seeds, that their addresses "+
		"can be dialled, and that they can dial this node at %s",
		listed("; heard nodes without one: ", addrsOf(seeking)),
		listed("; no answer from ", c.silent(targets)), c.cfg.Self.Addr)
}

// unheard says why the nodes with which this node would found a cluster do not choose as it does:
// they expect other numbers, or do not hear each other. It is empty when neither shows.
func (c *candidates) unheard(now time.Time, choice []view.UID) string {
	probes := c.look().eligible
	if text := unlike(probes); text != "" {
		return "the nodes do not agree on how many found the cluster" + text
	}
	chosen := without(probes, func(p *Probe) bool {
		return !slices.Contains(choice, p.Self.UID)
	})
	var deaf []string
	for _, p := range chosen {
		if p.Self.UID == c.cfg.Self.UID || slices.Equal(p.Choice, choice) {
			continue
		}
		if f, heard := c.get(p.Self.UID); heard && c.hardlyCame(now, f) {
			return ""
		}
		if not := deafTo(p, chosen); len(not) > 0 {
			deaf = append(deaf, p.Self.Addr+" does not hear "+strings.Join(atMost(not), ", "))
		}
	}
	if len(deaf) == 0 {
		return ""
	}
	slices.Sort(deaf)
	return fmt.Sprintf("expected %d nodes to found a cluster, heard %d%s; but %s: each must hear all, check that "+
		"they can dial each other's addresses",
		len(choice), len(chosen), listed(": ", addrsOf(chosen)), strings.Join(atMost(deaf), "; "))
}

// silent are the addresses that are probed and from which no seeking node was heard.
func (c *candidates) silent(targets []string) (addrs []string) {
	heard := make(map[string]bool)
	for _, f := range c.of {
		heard[f.probe.Self.Addr] = true
	}
	for _, a := range targets {
		if !heard[a] {
			addrs = append(addrs, a)
		}
	}
	slices.Sort(addrs)
	return addrs
}

// deafTo are the addresses of the nodes that p does not count as heard.
func deafTo(p Probe, chosen []Probe) (addrs []string) {
	for _, o := range chosen {
		hears := func(c Contact) bool { return c.UID == o.Self.UID }
		if o.Self.UID != p.Self.UID && !slices.ContainsFunc(p.Peers, hears) {
			addrs = append(addrs, o.Self.Addr)
		}
	}
	slices.Sort(addrs)
	return addrs
}

// unlike lists what each node expects, when that is not the same; it ends with what to do.
func unlike(probes []Probe) string {
	same := func(p Probe) bool { return p.Expect == probes[0].Expect }
	if !slices.ContainsFunc(probes, func(p Probe) bool { return !same(p) }) {
		return ""
	}
	said := make([]string, len(probes))
	for i, p := range probes {
		said[i] = fmt.Sprintf("%s expects %d", p.Self.Addr, p.Expect)
	}
	slices.Sort(said)
	return fmt.Sprintf(": %s; set BootstrapExpect to one number on all", strings.Join(atMost(said), ", "))
}

func addrsOf(probes []Probe) []string {
	addrs := make([]string, 0, len(probes))
	for _, p := range probes {
		addrs = append(addrs, p.Self.Addr)
	}
	slices.Sort(addrs)
	return addrs
}

// listed is a list behind a word, and nothing when it is empty.
func listed(word string, all []string) string {
	if len(all) == 0 {
		return ""
	}
	return word + strings.Join(atMost(all), ", ")
}

// namedMax bounds the names in one text.
const namedMax = 8

func atMost(all []string) []string {
	if len(all) <= namedMax {
		return all
	}
	return append(slices.Clone(all[:namedMax]), fmt.Sprintf("and %d more", len(all)-namedMax))
}
