package membership

import (
	"cmp"
	"fmt"
	"maps"
	"slices"
	"strings"
	"time"
	"unicode/utf8"

	"github.com/coterie-go/coterie/ddata/config"
	"github.com/coterie-go/coterie/ddata/format"
	"github.com/coterie-go/coterie/ddata/membership/bootstrap"
	"github.com/coterie-go/coterie/ddata/membership/downing"
	"github.com/coterie-go/coterie/ddata/membership/retiring"
	"github.com/coterie-go/coterie/ddata/membership/view"
	"github.com/coterie-go/coterie/proptest/defect"
	"github.com/zeebo/xxh3"
)

// Config configures a machine. It is copied in. Zero fields take their defaults (those of LAN). The
// driver usually starts from LAN or Local and sets the identity of the node.
type Config struct {
	UID        view.UID    // this incarnation, by view.DrawUID; required
	Addr       string      // host:port under which others reach this node, required
	Name       string      // name of the cluster; a node of another name is refused
	Roles      []string    // roles of this node
	AppVersion string      // the application's version, carried in the view
	Disk       view.DiskID // id of the data directory; 0 = the node keeps nothing on disk

	// Formats are the format levels that the node speaks. It is refused by a cluster whose level is
	// not among them, and holds down that of a cluster that it is in. Default: those of this build.
	Formats format.Range

	// DiskSince is a time since which the last incarnation on that directory has granted nothing
	// and stored nothing. A founding anew waits from then until what it granted before has run out.
	// It may lie before the start of the process: a time that is given must be certain, by a clock
	// that is neither set nor faster than this one. Default: the first step, and a later time means
	// that too.
	DiskSince time.Time

	// DiskEnded says that the last incarnation that wrote to that directory has ended for certain. A
	// directory that came from another machine may be in use there. A founding anew by nodes of which
	// all say so waits for nothing if they are all that could hold a lease in the last view. Default:
	// it is not known.
	DiskEnded bool

	// Compatibility is what else must be configured alike on all nodes (number of shards, codecs),
	// beside the strategy, VotersMax and the lease's duration. A node with other values is refused,
	// and both sides say which differ. At most 16, each name once, values shortened where they are
	// long.
	Compatibility []bootstrap.Setting

	// DurableKeys are patterns of the keys whose replicated data must be durable. Nodes may differ:
	// the views agree on all that some node has brought. At most 256, with 16 KiB together.
	DurableKeys []string

	// Seeds are addresses to ask for a cluster; the own one may be among them. Hints add to them.
	Seeds []string

	// Discovers says that the driver asks a source of addresses and steps Discovered with what it
	// says. Then nodes that remember no cluster found one only when that source has named at least
	// BootstrapExpect addresses, the same for StableAfter. At each of them a node without a cluster
	// must have been heard.
	Discovers bool

	// BootstrapExpect is the number of nodes without a cluster that found one together, all of them
	// or none. 1 = found alone at once. 0 (default) = never found, only join. Safe as long as fewer
	// than twice as many nodes without a cluster exist. When disks remember a cluster, a quorum of
	// its last view's disks counts instead, and half of the disks of each view before that was not
	// settled.
	BootstrapExpect int
	// BootstrapAnyDisks is the operator's word that disks of the last views which are not there
	// will not come back: a cluster may be founded anew without a quorum of them. What only they
	// held is lost. All founders must say so.
	BootstrapAnyDisks bool

	// MinMembers is how many members, in any status, must be in the view before the first ones
	// become Up. Default 1.
	MinMembers int
	// MinMembersOf is the same per role: so many members with the role. Default none.
	MinMembersOf map[string]int

	// VotersMax caps the members that decide on views and grant leases: the so many oldest of those
	// that are Up. Leaving members vote only as far as there are not as many. When a voter goes,
	// the next oldest takes its place. Heartbeats then go to voters only, so that the cost of a
	// node does not grow with the cluster: two small frames per voter and interval instead of per
	// member. The price: the cluster outlives the loss of a minority of the voters at once, not of
	// all members. And a member that does not vote hears of the others that do not vote only what
	// hints say. The value must be the same on all nodes; odd, and at least 5, to be of use. It is
	// part of the view that founds the cluster, and of all that follow. Default 0: votersUsual, so
	// that all vote in a cluster that is no larger; with a StaticQuorum all. Negative: all vote.
	VotersMax int

	// RetireAfter is how many incarnations must have become members since the last retirement (package
	// retiring) before the next one begins; at least as many as there are members. Lower keeps
	// clocks shorter. Each retirement costs two views and some messages between all members. The node that
	// proposes decides. Default retiring.Usual.
	RetireAfter int

	// Strategy is the downing strategy. Default KeepMajority.
	Strategy downing.Strategy

	// Timing is how long things take.
	Timing

	planted
}

// planted is the errors that a test has planted.
type planted = defect.Set

// Timing holds the durations of the membership. Zero fields take their defaults.
type Timing struct {
	// HeartbeatInterval is the time between heartbeats to every member. Default 1 s. Shorter
	// notices sooner and costs two small frames per member and interval.
	HeartbeatInterval time.Duration
	// UnreachableAfter without a message from a member it counts as unreachable. Default 4 s. It does
	// so at once when the connection to it has ended and its machine refuses another.
	UnreachableAfter time.Duration
	// StableAfter is how long a member must have been unreachable before it is dropped. Default 5
	// s. Availability only: longer rides out longer blips, shorter fails over sooner.
	StableAfter time.Duration
	// CrashStableAfter takes the place of StableAfter for members whose process has ended as far as
	// all voters can see: the machines refuse connections to them, and all other members are heard.
	// Default 1 s. Availability only: no member is dropped before its lease has run out. Of
	// StableAfter and CrashStableAfter the shorter counts. With CrashStableAfter at least as long as
	// StableAfter, what voters find ended makes no difference.
	CrashStableAfter time.Duration
	// LeaseDuration is L: how long after sending a heartbeat the sender may count the answer.
	// Default 4.25 s. Must be at least three heartbeats and RoundTrip, and with Epsilon at most
	// UnreachableAfter + StableAfter. Shorter fails over sooner after a crash. Longer bears a process
	// that stands still: one that does so for LeaseDuration less a heartbeat loses its lease.
	LeaseDuration time.Duration
	// Epsilon bounds the relative error between two nodes' clock rates. Default 0.03.
	Epsilon float64
	// RoundTrip is the largest usual round trip between two members. Default 250 ms; used by
	// Validate only.
	RoundTrip time.Duration
	// SelfDownAfter without a lease a node gives up with ErrDowned. Time during which its process
	// stood still does not count, here and in BootstrapTimeout. Default 20 s.
	SelfDownAfter time.Duration
	// BootstrapTimeout is how long a node that has locked itself to a founding waits for the
	// others, and a joining one for a cluster that fell silent. Then it ends, so that the driver
	// may start again under a new uid. Default 20 s.
	BootstrapTimeout time.Duration
}

// LAN returns the timing for machines in one network: the end of a process is decided in less than
// five seconds, and that of a machine in about nine.
func LAN() Config {
	return Config{Timing: Timing{
		HeartbeatInterval: time.Second,
		UnreachableAfter:  4 * time.Second,
		StableAfter:       5 * time.Second,
		CrashStableAfter:  time.Second,
		LeaseDuration:     4250 * time.Millisecond,
		Epsilon:           0.03,
		RoundTrip:         250 * time.Millisecond,
		SelfDownAfter:     20 * time.Second,
		BootstrapTimeout:  20 * time.Second,
	}}
}

// Local returns the timing for processes on one machine, for tests: a crash is decided in about a
// second. It bears a busy machine. A process that does not run for three quarters of a second loses
// its lease.
func Local() Config {
	return Config{Timing: Timing{
		HeartbeatInterval: 100 * time.Millisecond,
		UnreachableAfter:  600 * time.Millisecond,
		StableAfter:       300 * time.Millisecond,
		CrashStableAfter:  100 * time.Millisecond,
		LeaseDuration:     850 * time.Millisecond,
		Epsilon:           0.03,
		RoundTrip:         200 * time.Millisecond,
		SelfDownAfter:     4 * time.Second,
		BootstrapTimeout:  5 * time.Second,
	}}
}

// Or returns t with its zero fields taken from other.
func (t Timing) Or(other Timing) Timing {
	return Timing{
		HeartbeatInterval: cmp.Or(t.HeartbeatInterval, other.HeartbeatInterval),
		UnreachableAfter:  cmp.Or(t.UnreachableAfter, other.UnreachableAfter),
		StableAfter:       cmp.Or(t.StableAfter, other.StableAfter),
		CrashStableAfter:  cmp.Or(t.CrashStableAfter, other.CrashStableAfter),
		LeaseDuration:     cmp.Or(t.LeaseDuration, other.LeaseDuration),
		Epsilon:           cmp.Or(t.Epsilon, other.Epsilon),
		RoundTrip:         cmp.Or(t.RoundTrip, other.RoundTrip),
		SelfDownAfter:     cmp.Or(t.SelfDownAfter, other.SelfDownAfter),
		BootstrapTimeout:  cmp.Or(t.BootstrapTimeout, other.BootstrapTimeout),
	}
}

func (c *Config) setDefaults() {
	c.Timing = c.Timing.Or(LAN().Timing)
	config.Default(&c.Formats, format.Build())
	if c.MinMembers == 0 {
		c.MinMembers = 1
	}
	config.Default(&c.RetireAfter, retiring.Usual)
	if c.Strategy == nil {
		c.Strategy = downing.KeepMajority{}
	}
	c.Roles = slices.Clone(c.Roles)
	slices.Sort(c.Roles)
	c.Seeds = slices.Clone(c.Seeds)
	c.MinMembersOf = maps.Clone(c.MinMembersOf)
	c.Compatibility = slices.Clone(c.Compatibility)
	c.DurableKeys = view.MergePatterns(c.DurableKeys, nil)
}

// Validate fills in the defaults of a copy and reports everything that is wrong with it.
func (c Config) Validate() error {
	c.setDefaults()
	var f config.Faults
	f.Add(c.UID == 0, "UID", "is zero")
	f.Of("Formats", c.Formats.Check())
	f.Add(c.Addr == "", "Addr", "is empty")
	f.Add(len(c.Addr) > view.AddrMax, "Addr", "is longer than %d bytes", view.AddrMax)
	f.Add(len(c.Name) > view.NameMax, "Name", "is longer than %d bytes", view.NameMax)
	f.Add(len(c.AppVersion) > view.NameMax, "AppVersion", "is longer than %d bytes", view.NameMax)
	for _, s := range []struct{ name, text string }{
		{"Addr", c.Addr}, {"Name", c.Name}, {"AppVersion", c.AppVersion}, {"Roles", strings.Join(c.Roles, "")},
	} {
		f.Add(!utf8.ValidString(s.text), s.name, "is not UTF-8")
	}
	f.Add(len(c.Roles) > view.RolesMax, "Roles", "there are %d, more than %d", len(c.Roles), view.RolesMax)
	for i, r := range c.Roles {
		f.Add(r == "" || len(r) > view.NameMax, "Roles", "%q is empty or longer than %d bytes", r, view.NameMax)
		f.Add(i > 0 && r == c.Roles[i-1], "Roles", "%q is given twice", r)
	}
	f.Add(len(c.Seeds) > bootstrap.ContactsMax, "Seeds", "there are %d, more than %d",
		len(c.Seeds), bootstrap.ContactsMax)
	for _, s := range c.Seeds {
		f.Add(s == "" || len(s) > view.AddrMax, "Seeds", "%q is empty or longer than %d bytes", s, view.AddrMax)
	}
	f.Add(c.BootstrapExpect < 0, "BootstrapExpect",
		"%d is negative: give 0 (only join), 1 (alone) or the number of founders", c.BootstrapExpect)
	f.Add(c.BootstrapExpect > bootstrap.ContactsMax, "BootstrapExpect", "%d is above %d",
		c.BootstrapExpect, bootstrap.ContactsMax)
	f.Of("Strategy", downing.CheckStrategy(c.Strategy))
	f.Add(c.VotersMax > view.MembersMax, "VotersMax", "%d is above %d; below 0 all vote", c.VotersMax, view.MembersMax)
	f.Add(c.MinMembers < 0, "MinMembers", "%d is negative", c.MinMembers)
	f.Add(c.RetireAfter < 0, "RetireAfter", "%d is negative", c.RetireAfter)
	f.Of("Compatibility", bootstrap.CheckSettings(c.settings()))
	f.Of("DurableKeys", view.CheckPatterns(c.DurableKeys))
	if !c.Planted(defect.AnyTiming) {
		c.checkTiming(&f)
	}
	return f.Err("membership: Config")
}

func (c *Config) checkTiming(f *config.Faults) {
	for _, d := range []struct {
		name  string
		value time.Duration
	}{
		{"HeartbeatInterval", c.HeartbeatInterval}, {"UnreachableAfter", c.UnreachableAfter},
		{"StableAfter", c.StableAfter}, {"CrashStableAfter", c.CrashStableAfter},
		{"LeaseDuration", c.LeaseDuration}, {"RoundTrip", c.RoundTrip}, {"SelfDownAfter", c.SelfDownAfter},
		{"BootstrapTimeout", c.BootstrapTimeout},
	} {
		f.Add(d.value < 0, d.name, "%v is negative", d.value)
	}
	f.Add(c.Epsilon < 0 || c.Epsilon > 0.5, "Epsilon", "%g is not between 0 and 0.5", c.Epsilon)
	f.Add(c.UnreachableAfter < 2*c.HeartbeatInterval, "UnreachableAfter", "%v is less than two heartbeats of %v",
		c.UnreachableAfter, c.HeartbeatInterval)
	f.Add(c.LeaseDuration < 3*c.HeartbeatInterval+c.RoundTrip, "LeaseDuration",
		"%v is less than three heartbeats of %v and a RoundTrip of %v",
		c.LeaseDuration, c.HeartbeatInterval, c.RoundTrip)
	f.Add(c.promise() > c.UnreachableAfter+c.StableAfter, "LeaseDuration",
		"%v with Epsilon %g is more than UnreachableAfter %v and StableAfter %v",
		c.LeaseDuration, c.Epsilon, c.UnreachableAfter, c.StableAfter)
	f.Add(c.SelfDownAfter < 2*c.LeaseDuration, "SelfDownAfter", "%v is less than two LeaseDurations of %v",
		c.SelfDownAfter, c.LeaseDuration)
}

// promise is how long a granter keeps its word: L measured on the other's clock takes at most that
// long on its own.
func (c *Config) promise() time.Duration {
	return time.Duration(float64(c.LeaseDuration) * (1 + c.Epsilon))
}

// joinerTTL is longer than a few lost probes, and short enough that a joiner that died is not taken
// in.
func (c *Config) joinerTTL() time.Duration { return max(c.UnreachableAfter, 4*c.HeartbeatInterval) }

// self is this node as it asks to be listed.
func (c *Config) self() view.Member {
	return view.Member{
		UID: c.UID, Addr: c.Addr, Roles: c.Roles, AppVersion: c.AppVersion, Status: view.Joining, Disk: c.Disk,
		Formats: c.Formats,
	}
}

// enough reports whether MinMembers is reached, in total and for each role; members in any status
// count.
func (c *Config) enough(members []view.Member) bool {
	if len(members) < c.MinMembers {
		return false
	}
	for role, least := range c.MinMembersOf { // order: all must hold
		n := 0
		for _, o := range members {
			if o.HasRole(role) {
				n++
			}
		}
		if n < least {
			return false
		}
	}
	return true
}

// votersUsual is how many members vote if Config does not say: the loss of 12 of them at once is
// borne, and what a node hears of heartbeats is the same in a cluster of 50 and of 1,000.
const votersUsual = 25

// voters is VotersMax as views have it, where 0 says that all vote. The Size of a StaticQuorum is
// set with all members in mind.
func (c *Config) voters() int {
	if _, all := c.Strategy.(downing.StaticQuorum); c.VotersMax != 0 || all {
		return max(0, c.VotersMax)
	}
	return votersUsual
}

// settings are all that must be alike, the machine's own first. VotersMax alone determines the
// voters.
func (c *Config) settings() []bootstrap.Setting {
	return append([]bootstrap.Setting{
		bootstrap.NewSetting("Strategy", c.Strategy), bootstrap.NewSetting("VotersMax", c.VotersMax),
		bootstrap.NewSetting("LeaseDuration", c.LeaseDuration), bootstrap.NewSetting("Epsilon", c.Epsilon),
	}, c.Compatibility...)
}

// hash stands for the settings in views.
func (c *Config) hash() uint64 {
	h := xxh3.New()
	for _, s := range c.settings() {
		fmt.Fprintf(h, " %q=%q", s.Name, s.Value)
	}
	return h.Sum64()
}
