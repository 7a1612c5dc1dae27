package instances

import (
	"go/types"
	"strings"
	"testing"
)

func load(t *testing.T, pkg string) *types.Package {
	t.Helper()
	p, err := Load(t.Context(), pkg)
	if err != nil {
		t.Fatal(err)
	}
	return p
}

const root = "github.com/coterie-go/coterie/"

// Public types lead to few generic ones. What is above its limit costs each package of each user time to compile: the
// first ones that are named lead there.
func TestPublicTypesLeadToFew(t *testing.T) {
	loaded := map[string]*types.Package{}
	for _, of := range []struct {
		pkg, name string
		most      int // methods
	}{
		{"crdt", "GCounter", 0},
		{"crdt", "ORSetTx", 0},
		{"crdt", "ORMap", 19}, // its own, and those of its transaction
		{"ddata", "Node", 53}, // most of atomic.Pointer, which are small
		{"ddata", "Replicator", 53},
		{"sharding", "Region", 216}, // a third of its own, as many of atomic.Pointer
		{"sharding", "EntityType", 223},
	} {
		if loaded[of.pkg] == nil {
			loaded[of.pkg] = load(t, root+of.pkg)
		}
		all, err := Of(loaded[of.pkg], of.name)
		if err != nil {
			t.Fatal(err)
		}
		n := 0
		for _, i := range all {
			n += i.Methods
		}
		if n > of.most {
			t.Errorf("%s.%s leads to %d methods of generic types, at most %d", of.pkg, of.name, n, of.most)
			for _, i := range all[:min(len(all), 8)] {
				t.Logf("%d of %s, by %s", i.Methods, strings.TrimPrefix(i.Type, root), i.Through)
			}
		}
	}
}

// A generic type is found behind fields and methods, and nothing behind an interface.
func TestOf(t *testing.T) {
	all, err := Of(load(t, "net/http"), "Server")
	if err != nil {
		t.Fatal(err)
	}
	if len(all) == 0 || all[0].Methods == 0 || !strings.Contains(all[0].Through, "Server") {
		t.Errorf("http.Server leads to %+v", all)
	}
	io := load(t, "io")
	if all, err := Of(io, "Reader"); len(all) > 0 || err != nil {
		t.Errorf("io.Reader leads to %v: %v", all, err)
	}
	if _, err := Of(io, "Nothing"); err == nil {
		t.Error("a type that is not there leads somewhere")
	}
}
