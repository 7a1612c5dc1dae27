package ddata_test

import (
	"bytes"
	"errors"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/coterie-go/coterie/ddata"
	"github.com/coterie-go/coterie/ddata/events"
	"github.com/coterie-go/coterie/ddata/format"
	"github.com/coterie-go/coterie/ddata/membership/view"
)

// The builds that the tests play.
var (
	oldBuild = format.Range{Min: 1, Max: 1}
	newBuild = format.Range{Min: 1, Max: 2}
	nextOne  = format.Range{Min: 2, Max: 3}
)

// TestALevelIsHeldAndRises: nodes of two builds form one cluster. A held node holds the level down; when it
// is restarted without that, the level rises, and a node of the old build is refused then, with both levels.
func TestALevelIsHeldAndRises(t *testing.T) {
	addrs := freeAddrs(t, 3)
	of := func(i int, build format.Range, most format.Level) ddata.Config {
		c := ddata.OfBuild(config(addrs[i], addrs[:2], 2), build)
		c.FormatMax = most
		return c
	}
	first := of(0, newBuild, 0)
	told := watch(&first)
	nodes := startAll(t, first, of(1, newBuild, 1))
	if v := nodes[0].Host().Cluster.View(); v.Format != 1 || view.Writes(v, 2) || !view.Writes(v, 1) {
		t.Errorf("%v while a node is held", v)
	}
	old := startAll(t, of(2, oldBuild, 0))[0] // as after a roll-back
	for _, n := range []*ddata.Node{old, nodes[1]} {
		if err := n.Leave(testContext(t)); err != nil {
			t.Fatal(err)
		}
	}
	has(t, told, func(e events.FormatRaised) bool { return e.From == 1 && e.View.Format == 2 })
	startAll(t, of(1, newBuild, 0))
	_, err := ddata.Start(testContext(t), of(2, oldBuild, 0))
	if !errors.Is(err, ddata.ErrRefused) || !strings.Contains(err.Error(), "format level 2") ||
		!strings.Contains(err.Error(), "speaks level 1") {
		t.Errorf("a node of the old build: %v", err)
	}
	// the hello refuses a build that has no level in common
	_, err = ddata.Start(testContext(t), of(2, format.Range{Min: 3, Max: 4}, 0))
	if !errors.Is(err, ddata.ErrRefused) || !strings.Contains(err.Error(), "levels 3 to 4") ||
		!strings.Contains(err.Error(), "levels 1 to 2") {
		t.Errorf("a node of a build to come: %v", err)
	}
	startAll(t, of(2, nextOne, 0)) // which speaks the level, and the next
}

// TestAnOlderBuildLeavesTheDirectoryAlone: it does not start on a record of a level that it does not speak.
func TestAnOlderBuildLeavesTheDirectoryAlone(t *testing.T) {
	addrs, dir := freeAddrs(t, 1), t.TempDir()
	c := config(addrs[0], addrs, 1)
	c.Dir = dir
	n := startAll(t, ddata.OfBuild(c, newBuild))[0]
	if err := n.Leave(testContext(t)); err != nil {
		t.Fatal(err)
	}
	before, err := os.ReadFile(filepath.Join(dir, "coterie.node"))
	if err != nil {
		t.Fatal(err)
	}
	_, err = ddata.Start(testContext(t), ddata.OfBuild(c, oldBuild))
	if !errors.Is(err, format.ErrUnspoken) || !strings.Contains(err.Error(), "format level 2") ||
		!strings.Contains(err.Error(), dir) {
		t.Errorf("the older build: %v", err)
	}
	if after, err := os.ReadFile(filepath.Join(dir, "coterie.node")); err != nil || !bytes.Equal(before, after) {
		t.Errorf("the directory has changed: %v", err)
	}
	startAll(t, ddata.OfBuild(c, newBuild))
}

// TestAHeldLevelMustBeSpoken: a setting that the build does not have is refused, and both are named.
func TestAHeldLevelMustBeSpoken(t *testing.T) {
	c := ddata.OfBuild(config("127.0.0.1:0", nil, 1), nextOne)
	for most, fine := range map[format.Level]bool{0: true, 1: false, 2: true, 3: true, 4: false} {
		c.FormatMax = most
		err := c.Validate()
		if (err == nil) != fine || err != nil && !strings.Contains(err.Error(), "FormatMax: is level ") &&
			!strings.Contains(err.Error(), "levels 2 to 3") {
			t.Errorf("held at %d: %v", most, err)
		}
	}
	c.Transport.Formats = nextOne
	if err := c.Validate(); err == nil || !strings.Contains(err.Error(), "Formats") {
		t.Errorf("set in Transport: %v", err)
	}
}
