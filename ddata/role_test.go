package ddata_test

import (
	"fmt"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/coterie-go/coterie/crdt"
	"github.com/coterie-go/coterie/ddata"
	"github.com/coterie-go/coterie/ddata/events"
	"github.com/coterie-go/coterie/ddata/events/eventstest"
	"github.com/coterie-go/coterie/ddata/format"
	"github.com/coterie-go/coterie/ddata/roles"
)

// bothRoles is a node of two roles, of which "own" has settings of its own.
func bothRoles(own roles.Config, more func(*ddata.Config)) func(*ddata.Config) {
	return func(c *ddata.Config) {
		c.Roles, c.PerRole = []string{"own", "other"}, map[string]roles.Config{"own": own}
		if more != nil {
			more(c)
		}
	}
}

func ofRole(t *testing.T, n *ddata.Node, role string) *ddata.Replicator {
	t.Helper()
	r, err := n.Replicator(role)
	if err != nil {
		t.Fatal(err)
	}
	return r
}

// addTo adds an element to a set in a role's data.
func addTo(t *testing.T, n *ddata.Node, role, key, element string) {
	t.Helper()
	if err := ddata.Update(testContext(t), ofRole(t, n, role), ddata.NewKey[crdt.ORSet[string]](key),
		ddata.WriteMajority, add(element)); err != nil {
		t.Fatal(err)
	}
}

// wantSizes compares how many elements sets have in the data of roles; each is called by its role and its key.
func wantSizes(t *testing.T, n *ddata.Node, want map[string]int) {
	t.Helper()
	for name, size := range want { // order: each by itself
		role, key, _ := strings.Cut(name, " ")
		set, err := ddata.Get(testContext(t), ofRole(t, n, role), ddata.NewKey[crdt.ORSet[string]](key),
			ddata.ReadMajority)
		if err != nil {
			t.Fatal(err)
		}
		if set.Len() != size {
			t.Errorf("%s has %d elements, not %d", name, set.Len(), size)
		}
	}
}

// A key that one role keeps on disk is volatile in another one.
func TestDurableKeysOfARole(t *testing.T) {
	inBubble(t, func(t *testing.T, mem *memoryNet) {
		dir := t.TempDir()
		kept := bothRoles(roles.Config{DurableKeys: []string{"own/*"}}, keeping("all"))
		n := mem.alone(dir, kept)
		for _, role := range []string{"own", "other"} {
			addTo(t, n, role, "own/k", "e")
			addTo(t, n, role, "all", "e")
		}
		mustClose(t, n)
		n = mem.alone(dir, kept)
		wantSizes(t, n, map[string]int{"own own/k": 1, "other own/k": 0, "own all": 1, "other all": 1})
	})
}

// A pattern of one role becomes durable while the cluster runs: members do their part whether they have the role,
// others beside it, or only others. Then it can be written.
func TestDurableKeysOfARoleAreAdded(t *testing.T) {
	for name, has := range map[string][]string{ // order: each is a cluster of its own
		"both": {"other", "own"}, "only this": {"own"}, "only others": {"other"},
	} {
		t.Run(name, func(t *testing.T) {
			inBubble(t, func(t *testing.T, mem *memoryNet) {
				addrs := mem.addrs(2)
				a, b := mem.config(addrs[0], addrs, 1), mem.config(addrs[1], addrs, 0)
				a.Roles, a.Dir = has, t.TempDir()
				first := startAll(t, a)[0]
				b.Roles, b.Dir = []string{"own"}, t.TempDir()
				b.PerRole = map[string]roles.Config{"own": {DurableKeys: []string{"own/*"}}}
				second := startAll(t, b)[0]
				for v, err := range first.Watch(testContext(t)) {
					if err != nil {
						t.Fatalf("the move has not ended: %v: %v", err, first.View())
					}
					if len(v.Moving) == 0 && v.Moves == 1 {
						break
					}
				}
				addTo(t, second, "own", "own/k", "e")
			})
		})
	}
}

// A node with durable keys of one role cannot join nodes that do not know of such, and says so.
func TestDurableKeysOfARoleNeedNewBuilds(t *testing.T) {
	inBubble(t, func(t *testing.T, mem *memoryNet) {
		addrs := mem.addrs(2)
		old, b := mem.config(addrs[0], addrs[:1], 1), mem.config(addrs[1], addrs[:1], 0)
		old.Dir, old.FormatMax = t.TempDir(), format.Initial
		startAll(t, old)
		b.Dir, b.PerRole = t.TempDir(), map[string]roles.Config{"backend": {DurableKeys: []string{"own/*"}}}
		if _, err := ddata.Start(testContext(t), b); err == nil ||
			!strings.Contains(err.Error(), "the durable keys of Config.PerRole, which need level 2 of all nodes") {
			t.Errorf("it says %v", err)
		}
	})
}

// Data of one role waits for the disk as that role says, and a negative interval is none.
func TestWriteBehindOfARole(t *testing.T) {
	const interval = time.Second
	for _, c := range []struct {
		own, all time.Duration
		slow     string
	}{{interval, 0, "own"}, {-1, interval, "other"}} {
		inBubble(t, func(t *testing.T, mem *memoryNet) {
			n := mem.alone(t.TempDir(), bothRoles(roles.Config{WriteBehind: c.own}, func(all *ddata.Config) {
				all.DurableKeys, all.WriteBehind = []string{"kept/*"}, c.all
			}))
			for _, role := range []string{"own", "other"} {
				began := time.Now()
				for i := range 4 {
					addTo(t, n, role, "kept/k", fmt.Sprint(i))
				}
				if took := time.Since(began); (took >= 3*interval) != (role == c.slow) {
					t.Errorf("%+v: 4 writes one after the other took %v in role %s", c, took, role)
				}
			}
		})
	}
}

// A key is forgotten as its role says, else as all say.
func TestExpireOfARole(t *testing.T) {
	inBubble(t, func(t *testing.T, mem *memoryNet) {
		own := roles.Config{Expire: map[string]time.Duration{"brief": time.Second}}
		n := mem.alone("", bothRoles(own, func(all *ddata.Config) {
			all.Expire = map[string]time.Duration{"late": time.Second}
		}))
		for _, role := range []string{"own", "other"} {
			addTo(t, n, role, "brief", "e")
			addTo(t, n, role, "late", "e")
		}
		var gone sync.WaitGroup // both watches begin before the first key expires
		gone.Go(func() { untilDeleted(t, ofRole(t, n, "own"), "brief") })
		gone.Go(func() { untilDeleted(t, ofRole(t, n, "other"), "late") })
		gone.Wait()
		wantSizes(t, n, map[string]int{"own brief": 0, "own late": 1, "other brief": 1, "other late": 0})
	})
}

// Replication of a role reaches its Replicator, and no other one.
func TestReplicationOfARole(t *testing.T) {
	told := make(chan events.KeyLarge, 10)
	own := roles.Config{}
	own.Replication.LargeKey = 1000
	n := alone(t, "", bothRoles(own, func(c *ddata.Config) {
		c.OnEvent = eventstest.On(func(l events.KeyLarge) { told <- l })
	}))
	for _, role := range []string{"other", "own"} {
		addTo(t, n, role, "large", strings.Repeat("x", 2000))
	}
	if l := <-told; l.Role != "own" || len(told) > 0 {
		t.Errorf("%+v, and %d more", l, len(told))
	}
}

// What is wrong with a role's settings is named with the role and the field.
func TestBadRoleSettingsAreNamed(t *testing.T) {
	for says, own := range map[string]roles.Config{ // order: each is tried by itself
		"Config.PerRole[own].MinMembers: is negative":          {MinMembers: -1},
		"Config.Dir: is empty, but PerRole names durable keys": {DurableKeys: []string{"k"}},
		`Config.PerRole[own].DurableKeys: "": `:                {DurableKeys: []string{""}},
		`Config.PerRole[own].DurableKeys: "a\x00b": `:          {DurableKeys: []string{"a\x00b"}},
		`Config.PerRole[own].Expire: "k" expires after 1ms; give at least a second`: {
			Expire: map[string]time.Duration{"k": time.Millisecond},
		},
		"Config.PerRole[own].Replication.LogMax: is -1": func() (r roles.Config) {
			r.Replication.LogMax = -1
			return r
		}(),
		"Config.PerRole[own].Replication: Self, Disk": func() (r roles.Config) {
			r.Replication.Self = 1
			return r
		}(),
		"Config.PerRole[own].Replication: DigestSeed, FrameMax and GroupMax are the same for all roles": func() (
			r roles.Config,
		) {
			r.Replication.GroupMax = 1 << 20
			return r
		}(),
	} {
		c := config("127.0.0.1:1", nil, 1)
		bothRoles(own, nil)(&c)
		if err := c.Validate(); err == nil || !strings.Contains(err.Error(), says) {
			t.Errorf("%q is not said: %v", says, err)
		}
	}
	for says, change := range map[string]func(*ddata.Config){ // order: each is tried by itself
		`Config.PerRole[absent]: says how data is kept, and this node does not have the role`: func(c *ddata.Config) {
			c.PerRole["absent"] = roles.Config{WriteBehind: time.Second}
		},
		"Config.PerRole: names durable keys, and an empty Config.DurableKeys switches": func(
			c *ddata.Config,
		) {
			c.DurableKeys = []string{}
		},
		"Config.PerRole: names durable keys, which need format level 2, and Config.FormatMax is 1": func(
			c *ddata.Config,
		) {
			c.FormatMax = 1
		},
		`Config.PerRole: ""`: func(c *ddata.Config) { c.PerRole[""] = roles.Config{} },
		`Config.DurableKeys: "a\x00b": has a byte of zero`: func(c *ddata.Config) { c.DurableKeys = []string{"a\x00b"} },
	} {
		c := config("127.0.0.1:1", nil, 1)
		c.Dir = t.TempDir()
		bothRoles(roles.Config{DurableKeys: []string{"k"}}, change)(&c)
		if err := c.Validate(); err == nil || !strings.Contains(err.Error(), says) {
			t.Errorf("%q is not said: %v", says, err)
		}
	}
}
