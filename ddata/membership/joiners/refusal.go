package joiners

import (
	"fmt"
	"maps"
	"time"

	"github.com/coterie-go/coterie/ddata/membership/bootstrap"
	"github.com/coterie-go/coterie/ddata/membership/view"
)

// Scene is what a Table has to know of the moment to refuse a node.
type Scene struct {
	Now       time.Time
	View      *view.View // the installed one
	Self      view.Member
	Common    *bootstrap.Common   // what all nodes must have alike
	Leads     bool                // this node proposes the next view
	Reachable func(view.UID) bool // whether this node hears a member
}

// Refusal says why a node cannot be taken; 0 = it can.
func (t *Table) Refusal(s Scene, p bootstrap.Probe) (bootstrap.Reason, string) {
	if text := s.View.Ages.Refuses(p.Self.UID); text != "" {
		return bootstrap.ReasonGone, text
	}
	if text := t.goneFor(s.Leads, p); text != "" {
		return bootstrap.ReasonGone, text
	}
	if reason, text := s.Common.Mismatch(p); reason != 0 {
		return reason, text
	}
	if !p.Self.Formats.Contains(s.View.Format) {
		return bootstrap.ReasonFormat, fmt.Sprintf("the cluster has format level %d, and the node speaks %v",
			s.View.Format, p.Self.Formats)
	}
	if o, ok := t.living(s, p.Self); ok {
		if o.Addr == p.Self.Addr {
			return bootstrap.ReasonRole, fmt.Sprintf("address %s is that of %v, which is running", p.Self.Addr, o.UID)
		}
		return bootstrap.ReasonCopy, fmt.Sprintf("its disk %v is that of %v@%s, which is running", o.Disk, o.UID,
			o.Addr)
	}
	if text := s.View.NoRoom(p.Self); text != "" {
		return bootstrap.ReasonRoom, "a view has to be stored and sent, and with this node it has " + text
	}
	if text := s.View.RefusesPatterns(p.Durable); text != "" {
		return bootstrap.ReasonRoom, text
	}
	for _, k := range p.Knows {
		if k.Cluster != s.View.Cluster && !k.Founding && !p.AnyDisks {
			return bootstrap.ReasonDisk,
				fmt.Sprintf("its disk belongs to cluster %v, this is %v", k.Cluster, s.View.Cluster)
		}
	}
	return 0, ""
}

// goneFor says why a joiner has to come under another uid: it was removed, or may have been. A uid
// that was removed does not return, for others have settled what it left.
func (t *Table) goneFor(leads bool, p bootstrap.Probe) string {
	if _, ok := t.gone[p.Self.UID]; ok {
		return "it was a member and was removed before it knew"
	}
	if !leads || !t.mayHaveBeenIn(p) {
		return ""
	}
	return fmt.Sprintf("it has asked since %v, and may have been let in and removed before %v, from which on this "+
		"member knows all views", p.First, t.since)
}

// living finds the member at a joiner's address, or with its disk, that runs beside it: this node,
// or one that has been heard for much longer than an earlier incarnation could have been.
func (t *Table) living(s Scene, n view.Member) (view.Member, bool) {
	if n.Replaces(s.Self) {
		return s.Self, true
	}
	j, asked := t.waiting[n.UID]
	if !asked || s.Now.Sub(j.since) < t.cfg.Settled {
		return view.Member{}, false
	}
	for _, o := range s.View.Members {
		if n.Replaces(o) && s.Reachable(o.UID) {
			return o, true
		}
	}
	return view.Member{}, false
}

// told names a refusal that was told.
type told struct {
	addr string
	text string // whose causes are told apart: one setting may be right by now, and the next one wrong
}

// MayTell reports whether the refusal of an address is told: once a minute for each address and
// cause. So a node that asks every second, or a hostile one that asks all the time, does not fill
// the log. Nodes that make addresses or causes up are told of up to toldMax times a minute.
func (t *Table) MayTell(now time.Time, addr, text string) bool {
	key := told{addr, text}
	if _, known := t.told[key]; !known && len(t.told) >= toldMax {
		maps.DeleteFunc(t.told, func(_ told, at time.Time) bool { return now.Sub(at) >= tellAgain })
	}
	at, known := t.told[key]
	if known && now.Sub(at) < tellAgain || !known && len(t.told) >= toldMax {
		return false
	}
	t.told[key] = now
	return true
}
