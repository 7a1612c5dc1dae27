package bootstrap

import (
	"fmt"
	"math/rand/v2"
	"slices"
	"time"

	"github.com/coterie-go/coterie/ddata/format"
	"github.com/coterie-go/coterie/ddata/membership/view"
)

// foundingView is the view that this node proposes to the chosen.
func (c *candidates) foundingView(rng *rand.Rand, now time.Time, choice []view.UID) *view.View {
	scene := c.look()
	probes, needs := scene.eligible, scene.needs // choice has seen that they are consistent
	v := &view.View{
		Cluster: view.ClusterID(rng.Uint64() | 1), Era: view.EraAt(now), Epoch: 1, ConfigHash: c.cfg.ConfigHash,
		VotersMax: uint32(c.cfg.VotersMax), Founded: true,
	}
	for _, p := range probes {
		for _, k := range p.Knows {
			v.Epoch = max(v.Epoch, k.Epoch+1)
		}
	}
	_ = agreeOnKeys(v, probes, needs) // choice has seen that there is room
	for _, k := range needs {
		v.Cluster, v.Era = k.Cluster, k.Era
		if !k.Pending {
			v.Inherit(k.Sets)
		}
	}
	for _, p := range probes {
		if !slices.Contains(choice, p.Self.UID) {
			continue
		}
		v.LastUp++
		p.Self.UpNumber = v.LastUp
		v.Members = append(v.Members, p.Self)
	}
	if v.Format = view.Spoken(v.Members); v.Format >= format.Ages {
		v.Ages = agesOf(needs).Counting(v.LastUp)
	}
	if c.cfg.AnyDisks {
		v.Unsettled = among(v.Unsettled, v.Disks(""))
		if len(needs) > 0 {
			v.Epoch += epochsGivenUp
		}
	}
	if c.cfg.Enough(v.Members) {
		for i := range v.Members {
			v.Members[i].Status = view.Up
		}
	}
	return v
}

// formatLeast is the format level below which no founding may be: that of the views that must not be
// forgotten. Disks may hold what was written at it.
func formatLeast(needs []Known) (least format.Level) {
	for _, k := range needs {
		least = max(least, k.Format)
	}
	return least
}

// outdated names the nodes that cannot take part in a founding, because they do not speak a format
// level that disks remember; empty = none.
func outdated(probes []Probe, least format.Level) string {
	var names []string
	for _, p := range probes {
		if p.Self.Formats.Max < least {
			names = append(names, fmt.Sprintf("%s speaks %v", p.Self.Addr, p.Self.Formats))
		}
	}
	if len(names) == 0 {
		return ""
	}
	return fmt.Sprintf("the disks remember format level %d, which not all speak%s", least, listed(": ", names))
}

// epochsGivenUp is how many epochs a founding by an operator's word leaves out: more than the
// missing disks can have seen since those that are there. So the founding is newer than what the
// arbiter of LeaseMajority has on record. It is also newer than what any node may still say of
// views that were given up.
const epochsGivenUp = 1 << 32

// among leaves of each set what is there.
func among(sets []view.DiskSet, there []view.DiskID) (out []view.DiskSet) {
	for _, s := range sets {
		s.Disks = slices.DeleteFunc(slices.Clone(s.Disks), func(d view.DiskID) bool {
			return !slices.Contains(there, d)
		})
		if len(s.Disks) > 0 {
			out = append(out, s)
		}
	}
	return out
}
