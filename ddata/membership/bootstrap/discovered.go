package bootstrap

import (
	"fmt"
	"slices"
	"strings"
	"time"

	"github.com/coterie-go/coterie/ddata/membership/view"
)

// This file is the first-node rule where addresses are discovered. A node that remembers no cluster
// founds one only when the source of addresses shows the whole scene, and every node in it was
// heard and is without a cluster, too.
//
// The race that it prevents: (1) a and b of three pods found a cluster, and keep nothing on disk;
// (2) b is started anew, when the source names c and b only, or a cannot be reached; (3) b and c
// are two nodes without a cluster, and would found another beside that of a.

// discovered is what the source said last.
//
// Invariants: since is zero before the first answer; at most ContactsMax are found; ours are
// targets that were not known before the source named them.
type discovered struct {
	cfg   *Config
	found []Contact // as it was named, by address
	since time.Time // when the set of addresses last changed, or the source failed
	err   string    // why there is no answer now, or a partial one
	ours  []string
}

// Discovered takes what the source says. Addresses that it names no more are not probed any more,
// unless a node was heard there. An answer that may not be all is good for joining, not for
// founding.
func (s *Seeker) Discovered(now time.Time, all []Contact, failed string) {
	s.enter(now)
	s.out.Wake = true
	if s.discovered.answer(s.now, all, failed, &s.out) {
		s.discovered.retarget(s.now, &s.targets, &s.candidates, &s.out)
	}
}

// answer takes what the source says, and reports whether it names anything or is complete.
func (d *discovered) answer(now time.Time, all []Contact, failed string, out *Output) bool {
	if failed != "" {
		d.err, d.since = strings.ToValidUTF8(failed[:min(len(failed), ReasonMax)], ""), now
		if len(all) == 0 {
			return false
		}
	}
	found := slices.DeleteFunc(slices.Clone(all), func(c Contact) bool {
		return c.Addr == "" || len(c.Addr) > view.AddrMax
	})
	slices.SortFunc(found, func(a, b Contact) int { return strings.Compare(a.Addr, b.Addr) })
	found = slices.CompactFunc(found, func(a, b Contact) bool { return a.Addr == b.Addr })
	out.Dropped.Full += uint64(max(0, len(found)-ContactsMax))
	found = found[:min(len(found), ContactsMax)]
	if failed == "" && d.err != "" {
		d.err, d.since = "", now
	}
	if d.since.IsZero() || !slices.EqualFunc(found, d.found, func(a, b Contact) bool { return a.Addr == b.Addr }) {
		d.since = now
	}
	d.found = found
	return true
}

// retarget probes the addresses that the source names, and no longer those that only an earlier
// answer named.
func (d *discovered) retarget(now time.Time, t *targets, heard *candidates, out *Output) {
	var ours []string
	for _, a := range d.ours {
		if d.names(a) || heard.heardAt(Contact{Addr: a}) {
			ours = append(ours, a)
		} else {
			t.remove(a)
		}
	}
	for _, c := range d.found {
		// this node under another name, or nothing new
		if c.UID == d.cfg.Self.UID || t.has(c.Addr) {
			continue
		}
		if t.add(now, c.Addr, out); t.has(c.Addr) {
			ours = append(ours, c.Addr)
		}
	}
	d.ours = ours
}

func (d *discovered) names(addr string) bool {
	return slices.ContainsFunc(d.found, func(c Contact) bool { return c.Addr == addr })
}

// unsure says why a node that discovers does not know yet whether there is a cluster, and which
// other nodes there are; empty = it knows, or does not discover.
func (d *discovered) unsure(now time.Time, heard *candidates, out *Output) string {
	if !d.cfg.Discovers {
		return ""
	}
	var silent []string
	for _, c := range d.found {
		if !heard.heardAt(c) {
			silent = append(silent, c.Addr)
		}
	}
	stable := d.since.Add(d.cfg.StableAfter)
	switch {
	case d.err != "" && len(d.found) == 0:
		return "discovery does not answer: " + d.err
	case d.err != "":
		return "discovery may not name all: " + d.err
	case d.since.IsZero():
		return "discovery has not answered yet"
	case len(d.found) < d.cfg.Expect:
		return fmt.Sprintf("discovery names %d of the %d nodes that found a cluster (BootstrapExpect)%s; it is "+
			"asked again",
			len(d.found), d.cfg.Expect, listed(": ", d.addrs()))
	case len(silent) > 0:
		return fmt.Sprintf("discovery names %s, and no node without a cluster was heard there: perhaps one is in a "+
			"cluster; nothing is founded until all "+
			"answer, or it names them no more", listed("", silent))
	case now.Before(stable):
		out.DueAt(stable)
		return "the answer of discovery has changed just now"
	}
	return ""
}

// join puts two reasons to wait into one.
func join(text, more string) string {
	if more == "" {
		return text
	}
	return text + "; " + more
}

func (d *discovered) addrs() (addrs []string) {
	for _, c := range d.found {
		addrs = append(addrs, c.Addr)
	}
	return addrs
}
