package ddata_test

import (
	"errors"
	"fmt"
	"os"
	"reflect"
	"regexp"
	"strings"
	"testing"
	"time"

	"github.com/coterie-go/coterie/ddata"
	"github.com/coterie-go/coterie/ddata/events"
	"github.com/coterie-go/coterie/ddata/membership"
	"github.com/coterie-go/coterie/ddata/membership/downing"
	"github.com/coterie-go/coterie/ddata/roles"
	"github.com/coterie-go/coterie/ddata/transport"
)

// A setting that must be alike and is not is named, with both values, to the node that is refused
// and by the member that refuses it.
func TestDifferencesAreNamedOnBothSides(t *testing.T) {
	inBubble(t, func(t *testing.T, mem *memoryNet) {
		addrs := mem.addrs(2)
		first := mem.config(addrs[0], addrs[:1], 1)
		w := watch(&first)
		startAll(t, first)
		for _, c := range []struct {
			setting, ours, theirs string
			tune                  func(*ddata.Config)
		}{
			{"LeaseDuration", "850ms", "870ms", func(c *ddata.Config) {
				c.Timing.LeaseDuration = 870 * time.Millisecond
			}},
			{"Epsilon", "0.03", "0.02", func(c *ddata.Config) { c.Timing.Epsilon = 0.02 }},
			{"Strategy", "keep-majority", "keep-oldest", func(c *ddata.Config) { c.Downing = downing.KeepOldest{} }},
			{"VotersMax", "0", "5", func(c *ddata.Config) { c.VotersMax = 5 }},
			{"Dir", "not set", "set", func(c *ddata.Config) { c.Dir = t.TempDir() }},
			{"Dir", "not set", "set, with DurableKeys empty", func(c *ddata.Config) {
				c.Dir, c.DurableKeys = t.TempDir(), []string{}
			}},
			{"Replication.DigestSeed", "0", "7", func(c *ddata.Config) { c.Replication.DigestSeed = 7 }},
			{"Replication.FrameMax", "0", "32768", func(c *ddata.Config) { c.Replication.FrameMax = 32 << 10 }},
			{"Replication.GroupMax", "0", "1048576", func(c *ddata.Config) { c.Replication.GroupMax = 1 << 20 }},
		} {
			other := mem.config(addrs[1], addrs[:1], 0)
			c.tune(&other)
			_, err := ddata.Start(testContext(t), other)
			want := fmt.Sprintf("%s is %s at %s and %s at %s", c.setting, c.ours, addrs[0], c.theirs, addrs[1])
			if !errors.Is(err, ddata.ErrRefused) || !strings.Contains(err.Error(), want) {
				t.Errorf("the node says %v, not %q", err, want)
			}
			has(t, w, func(e events.NodeRefused) bool { return strings.Contains(e.Text, want) && e.Addr == addrs[1] })
		}
	})
}

// Config.Timing overrides the preset: a node that has lost the others gives up when it says.
func TestTimingReachesTheMembership(t *testing.T) {
	inBubble(t, func(t *testing.T, mem *memoryNet) {
		addrs := mem.addrs(2)
		configs := []ddata.Config{mem.config(addrs[0], addrs, 2), mem.config(addrs[1], addrs, 2)}
		for i := range configs {
			configs[i].Downing = downing.DownAll{}
			configs[i].Timing.SelfDownAfter = 1800 * time.Millisecond
		}
		nodes := startAll(t, configs...)
		mustClose(t, nodes[1])
		<-nodes[0].Done()
		if err := nodes[0].Err(); !errors.Is(err, ddata.ErrDowned) ||
			!strings.Contains(err.Error(), "no lease for 1.8s") {
			t.Errorf("it ended with %v", err)
		}
	})
}

// What does not go together is refused by the name of the field.
func TestBadTimingAndTransportAreNamed(t *testing.T) {
	for says, tune := range map[string]func(*ddata.Config){ // order: each is tried by itself
		"Config.Timing.HeartbeatInterval:": func(c *ddata.Config) { c.Timing.HeartbeatInterval = -1 },
		"UnreachableAfter: 1ms is less": func(c *ddata.Config) {
			c.Timing.UnreachableAfter = time.Millisecond
		},
		"LeaseDuration: 10s with Epsilon 0.03 is more": func(c *ddata.Config) {
			c.Timing.LeaseDuration = 10 * time.Second
		},
		"SelfDownAfter: 1s is less":          func(c *ddata.Config) { c.Timing.SelfDownAfter = time.Second },
		"RoundTrip of 4s":                    func(c *ddata.Config) { c.Timing.RoundTrip = 4 * time.Second },
		"Epsilon: 2 is not":                  func(c *ddata.Config) { c.Timing.Epsilon = 2 },
		"BootstrapTimeout: -1ns is negative": func(c *ddata.Config) { c.Timing.BootstrapTimeout = -1 },
		"StableAfter: -1ns is negative":      func(c *ddata.Config) { c.Timing.StableAfter = -1 },
		"Config.Transport: Cluster, Self":    func(c *ddata.Config) { c.Transport.Bind = "127.0.0.1:0" },
		"Config.Transport.ConnsMax: -1":      func(c *ddata.Config) { c.Transport.ConnsMax = -1 },
	} {
		c := config("127.0.0.1:0", nil, 1)
		c.Preset = ddata.LAN
		tune(&c)
		if err := c.Validate(); err == nil || !strings.Contains(err.Error(), says) {
			t.Errorf("want %q: %v", says, err)
		}
	}
}

// Settings with which the membership could not run are refused before anything is taken, by the
// name of the field. So are addresses that no node can dial.
func TestEveryFaultIsFoundBeforeTheStart(t *testing.T) {
	lots := make([]string, 300)
	for i := range lots {
		lots[i] = fmt.Sprintf("r%d:1", i)
	}
	for says, tune := range map[string]func(*ddata.Config){ // order: each is tried by itself
		`Config.Seeds: discovery: bad address ":7946"`: func(c *ddata.Config) { c.Seeds = []string{":7946"} },
		`Config.Seeds: discovery: bad address "a:0"`:   func(c *ddata.Config) { c.Seeds = []string{"a:0"} },
		"Config.Seeds: there are 300":                  func(c *ddata.Config) { c.Seeds = lots },
		"Config.BootstrapExpect: 300 is above":         func(c *ddata.Config) { c.BootstrapExpect = 300 },
		"Config.BootstrapExpect: -1 is negative":       func(c *ddata.Config) { c.BootstrapExpect = -1 },
		"Config.Roles: there are 300":                  func(c *ddata.Config) { c.Roles = lots },
		`Config.Roles: "a" is given twice`:             func(c *ddata.Config) { c.Roles = []string{"a", "a"} },
		"Config.VotersMax: 5000 is above":              func(c *ddata.Config) { c.VotersMax = 5000 },
		"Config.MinMembers: -1 is negative":            func(c *ddata.Config) { c.MinMembers = -1 },
		"Config.Downing: StaticQuorum.Size 0":          func(c *ddata.Config) { c.Downing = downing.StaticQuorum{} },
		"Config.Downing: it is a pointer":              func(c *ddata.Config) { c.Downing = &downing.LeaseMajority{} },
		"Config.AppVersion: is not UTF-8":              func(c *ddata.Config) { c.AppVersion = "\xff" },
		"Config.Advertise: is longer than 256 bytes": func(c *ddata.Config) {
			c.Advertise = strings.Repeat("a", 300) + ":1"
		},
	} {
		c := config("127.0.0.1:0", nil, 1)
		tune(&c)
		if err := c.Validate(); err == nil || !strings.Contains(err.Error(), says) {
			t.Errorf("want %q: %v", says, err)
		}
	}
	c := config("127.0.0.1:0", []string{"a:1"}, 3)
	if err := c.Validate(); err != nil {
		t.Errorf("a good one: %v", err)
	}
}

// Config.Transport reaches the port: beyond ConnsMax connections are turned away, counted, and
// told.
func TestTransportSettingsReachThePort(t *testing.T) {
	c := config("127.0.0.1:0", nil, 1)
	c.Transport.ConnsMax = 1
	w := watch(&c)
	n := startAll(t, c)[0]
	for id := range transport.NodeID(2) {
		guest, err := transport.Listen(t.Context(), transport.Config{
			Cluster: "test", Self: 100 + id, Bind: "127.0.0.1:0",
		})
		if err != nil {
			t.Fatal(err)
		}
		defer guest.Close()
		if err := guest.SendAddr(n.Addr(), transport.ChannelOf("absent"), []byte("hello")); err != nil {
			t.Fatal(err)
		}
	}
	has(t, w, func(e events.FramesDropped) bool { return e.Reason == transport.DropOverload && e.Count > 0 })
}

// No node becomes Up before MinMembers are there, and so many of each role; then all do.
func TestMinMembers(t *testing.T) {
	for name, tune := range map[string]func(*ddata.Config){ // order: each is a cluster of its own
		"in all":   func(c *ddata.Config) { c.MinMembers = 3 },
		"per role": func(c *ddata.Config) { c.PerRole = map[string]roles.Config{"data": {MinMembers: 1}} },
	} {
		t.Run(name, func(t *testing.T) {
			addrs := freeAddrs(t, 3)
			starts := make(chan *ddata.Node, 3)
			start := func(i int, role string) {
				c := config(addrs[i], addrs[:2], 2*(1-i/2))
				c.Roles = []string{role}
				tune(&c)
				w := watch(&c)
				go func() {
					n, err := ddata.Start(testContext(t), c)
					if err != nil {
						t.Error(err)
					}
					starts <- n
				}()
				if i == 1 { // the two have founded, and stay below: the view lists both, neither Up
					has(t, w, func(e events.ViewInstalled) bool { return len(e.View.Members) == 2 && !e.View.Open() })
				}
			}
			start(0, "backend")
			start(1, "backend")
			select {
			case n := <-starts:
				t.Fatalf("%v is Up in %v", n.UID(), n.View())
			default:
			}
			start(2, "data")
			for range 3 {
				n := <-starts
				if n == nil {
					t.FailNow()
				}
				defer mustClose(t, n)
				if v := n.View(); len(v.Members) != 3 {
					t.Errorf("Up in %v", v)
				}
			}
		})
	}
}

// The version of the service is in the view of all.
func TestAppVersionIsInTheView(t *testing.T) {
	addrs := freeAddrs(t, 2)
	configs := []ddata.Config{config(addrs[0], addrs, 2), config(addrs[1], addrs, 2)}
	configs[0].AppVersion, configs[1].AppVersion = "1.0", "1.1"
	nodes := startAll(t, configs...)
	for i, n := range nodes {
		for j := range nodes {
			if m, _ := n.View().Member(nodes[j].UID()); m.AppVersion != configs[j].AppVersion {
				t.Errorf("node %d sees version %q of node %d", i, m.AppVersion, j)
			}
		}
	}
}

// The table of the reference's settings in design.md names fields that exist, and all
// those of Timing.
func TestTableOfSettings(t *testing.T) {
	page, err := os.ReadFile("design.md")
	if err != nil {
		t.Fatal(err)
	}
	var tables []string
	for _, m := range regexp.MustCompile("(?s)```text\n(.*?)```").FindAllStringSubmatch(string(page), -1) {
		tables = append(tables, m[1])
	}
	doc := strings.Join(tables, "\n")
	named := map[string]bool{}
	for _, m := range regexp.MustCompile(`\bT\.([A-Z]\w+)`).FindAllStringSubmatch(string(page), -1) {
		named[m[1]] = true
	}
	for f := range reflect.TypeFor[membership.Timing]().Fields() {
		if !named[f.Name] {
			t.Errorf("Timing.%s is not in the table", f.Name)
		}
		delete(named, f.Name)
	}
	for name := range named { // order: each is reported by itself
		t.Errorf("the table names T.%s, which does not exist", name)
	}
	config := reflect.TypeFor[ddata.Config]()
	row := regexp.MustCompile(`(?m)^[a-z.\-]+(?:, [a-z.\-]+)* +([A-Z]\w+)\b(?:, ([A-Z]\w+)\b)?(?:[^.\w(]|$)`)
	rows := row.FindAllStringSubmatch(doc, -1)
	if len(rows) < 15 {
		t.Errorf("only %d rows are understood", len(rows))
	}
	for _, m := range rows {
		for _, name := range m[1:] {
			if _, ok := config.FieldByName(name); !ok && name != "" {
				t.Errorf("the table names %s, which is no field of Config", name)
			}
		}
	}
}
