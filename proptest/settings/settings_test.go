package settings

import (
	"fmt"
	"go/ast"
	"go/parser"
	"go/token"
	"io/fs"
	"os"
	"path"
	"path/filepath"
	"reflect"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"testing"
	"testing/fstest"
	"time"
)

var root = os.DirFS(filepath.Join("..", ".."))

// TestPage looks whether the page is what the source says.
func TestPage(t *testing.T) {
	want, err := Page(root)
	if err != nil {
		t.Fatal(err)
	}
	got, err := fs.ReadFile(root, File)
	if err != nil {
		t.Fatal(err)
	}
	if string(got) != want {
		t.Errorf("%s is stale: run go run ./proptest/settings/cmd/settings, and read the difference", File)
	}
}

// otherwise are fields that the code fills in with something that the comment cannot name.
var otherwise = map[string]string{
	"transport.Config.DataStripes":          "it depends on the machine",
	"passivation.Strategy.IdleInterval":     "it is a part of another setting",
	"passivation.Admission.FrequencySketch": "it is on so that what tunes it has defaults",
	"passivation.Window.Policy":             "it is set so that the window has defaults",
	"passivation.Window.HillClimbing":       "it is on so that what tunes it has defaults",
}

// TestDefaults compares the defaults of comments with those that the code fills in.
func TestDefaults(t *testing.T) {
	compared := 0
	for _, g := range Groups() {
		if g.defaults == nil {
			continue
		}
		_, fields, err := read(root, g.Dir, g.Type)
		if err != nil {
			t.Fatal(err)
		}
		of := reflect.ValueOf(g.defaults())
		for _, f := range fields {
			v := of.FieldByName(f.Name)
			if slices.Contains(g.Hidden, f.Name) || shown(v, false) == "" {
				continue
			}
			compared++
			says := listen(f).def
			if !slices.ContainsFunc(forms(v), func(s string) bool {
				return strings.Contains(strings.ToLower(says), strings.ToLower(s))
			}) &&
				otherwise[g.Name+"."+f.Name] == "" {
				t.Errorf("%s.%s: the comment says the default is %q, and the code fills in %s", g.Name, f.Name, says,
					shown(v, false))
			}
		}
	}
	if compared < 100 {
		t.Errorf("only %d defaults were compared", compared)
	}
}

// forms are ways in which comments write the same value.
func forms(v reflect.Value) []string {
	out := []string{shown(v, false), shown(v, true)}
	if v.Type() == reflect.TypeFor[time.Duration]() {
		d := time.Duration(v.Int())
		out = append(out, strconv.FormatFloat(d.Seconds(), 'f', -1, 64)+" s")
		if d%time.Minute == 0 {
			out = append(out, fmt.Sprintf("%d minutes", d/time.Minute))
		}
	} else if v.CanInt() {
		n := v.Int()
		out = append(out, strconv.FormatInt(n, 10), strings.TrimSuffix(number(n, true), "B"))
	}
	return out
}

// TestHidden wants the fields that are left out to exist.
func TestHidden(t *testing.T) {
	for _, g := range Groups() {
		_, fields, err := read(root, g.Dir, g.Type)
		if err != nil {
			t.Fatal(err)
		}
		for _, h := range g.Hidden {
			if !slices.ContainsFunc(fields, func(f Field) bool { return f.Name == h }) {
				t.Errorf("%s has no field %s: take it from Hidden", g.Name, h)
			}
		}
	}
}

// inner are structs that look like settings and are none of a service, with what sets them.
var inner = map[string]string{
	"ddata/membership/arbitration.Config":       byMachine,
	"ddata/membership/bootstrap.Config":         byMachine,
	"ddata/membership.Config":                   byMachine,
	"ddata/membership/joiners.Config":           byMachine,
	"ddata/membership/nextview.Config":          byMachine,
	"ddata/membership/nodelease.Config":         byMachine,
	"ddata/membership/parting.Config":           byMachine,
	"ddata/membership/paxos.Config":             byMachine,
	"ddata/membership/singleton.Config":         byMachine,
	"ddata/membership/voting.Config":            byMachine,
	"ddata/transport/gossip.Config":             byMachine,
	"sharding/protocol.Config":                  byMachine,
	"sharding/delivery/protocol.ProducerConfig": byMachine,
	"sharding/projection/pace.Settings":         byMachine,
	"sharding/remind/rehash.GateConfig":         byMachine,
	"sharding/remind/rehash.Config":             byMachine,
	"sharding/control.Settings":                 byPlane,
	"sharding/dataplane/entities.Settings":      byPlane,
	"sharding/dataplane.Settings":               byPlane,
	"sharding/dataplane/pool.WatchSettings":     byPlane,
	"sharding/dataplane/reminders.Config":       byPlane,
	"sharding/dataplane/routes.Settings":        byPlane,
	"sharding/persistence/batch.Config":         byPlane,
	"sharding/persistence/history.Config":       byPlane,
	"sharding/remind/replicated.Config":         byPlane,
	"ddata/host/hosttest.Config":                byTested,
	"sharding/leasetest.Settings":               byTested,
	"crdt.StoreOptions":                         byTested,
	"ddata/doctor/manifests.Options":            byCommand,
	"sharding/remember/transfer.Options":        byCommand,
	"ddata/locks/kubernetes/apiclient.Config":   byCommand,
}

const (
	byMachine = "the node or the entity type sets it for a machine"
	byPlane   = "the entity type sets it for what carries its messages"
	byTested  = "tests set it"
	byCommand = "a command sets it by its flags"
)

var looksLike = regexp.MustCompile(`^[A-Z]\w*(Config|Options|Settings)$|^(Config|Options|Settings|Behavior)$`)

// TestComplete wants each struct of settings to be in a group.
func TestComplete(t *testing.T) {
	has := map[string]bool{}
	for _, g := range Groups() {
		has[g.Dir+"."+g.Type] = true
	}
	found := map[string]bool{}
	for _, name := range structs(t) {
		if !looksLike.MatchString(name[strings.LastIndex(name, ".")+1:]) {
			continue
		}
		found[name] = true
		switch {
		case has[name] && inner[name] != "":
			t.Errorf("%s is in a group: take it from inner", name)
		case !has[name] && inner[name] == "":
			t.Errorf("%s looks like settings: add a Group, or say in inner which part of the library sets it", name)
		}
	}
	for name := range inner {
		if !found[name] {
			t.Errorf("there is no struct %s: take it from inner", name)
		}
	}
}

// structs returns the exported structs below the folders of the library, as folder and name.
func structs(t *testing.T) (out []string) {
	for _, top := range []string{"crdt", "ddata", "durable", "replicator", "sharding"} {
		err := fs.WalkDir(root, top, func(name string, e fs.DirEntry, err error) error {
			if err != nil || e.IsDir() || path.Ext(name) != ".go" || strings.HasSuffix(name, "_test.go") {
				return err
			}
			src, err := fs.ReadFile(root, name)
			if err != nil {
				return err
			}
			f, err := parser.ParseFile(token.NewFileSet(), name, src, parser.SkipObjectResolution)
			if err != nil || f.Name.Name == "main" {
				return err
			}
			ast.Inspect(f, func(n ast.Node) bool {
				if s, is := n.(*ast.TypeSpec); is {
					if _, is := s.Type.(*ast.StructType); is && s.Name.IsExported() {
						out = append(out, path.Dir(name)+"."+s.Name.Name)
					}
				}
				return true
			})
			return nil
		})
		if err != nil {
			t.Fatal(err)
		}
	}
	return out
}

// TestListen reads comments of each form.
func TestListen(t *testing.T) {
	for _, c := range []struct {
		comment string
		at      int
		want    said
	}{
		{"A is so long. Default 5 s. Longer costs more.", 0,
			said{def: "5 s", meaning: "A is so long. Longer costs more."}},
		{"A is a name, 1 to 64 bytes. Required.", 0,
			said{required: true, bounds: []string{"1 to 64 bytes"}, meaning: "A is a name, 1 to 64 bytes."}},
		{"A hears. Optional.", 0, said{def: "none", meaning: "A hears."}},
		{"A and B bound it.\n\nDefaults 20 ms\nand 2 s.", 1, said{def: "2 s", meaning: "A and B bound it."}},
		{"moved at most; default 20", 0, said{def: "20", meaning: "moved at most."}},
		{"A. Default: the Journal, if there is one.\n\nIt is shared.", 0,
			said{def: "the Journal, if there is one", meaning: "A.\n\nIt is shared."}},
	} {
		if got := listen(Field{Comment: c.comment, At: c.at}); !reflect.DeepEqual(got, c.want) {
			t.Errorf("%q:\ngot  %#v\nwant %#v", c.comment, got, c.want)
		}
	}
}

// TestLimits asks a group that takes 3 to 1,024 bytes, and parts of up to a half.
func TestLimits(t *testing.T) {
	type some struct {
		N    int
		D    time.Duration
		Part float64
		Free int
		Name string
	}
	g := Group{validate: func(v any) error {
		s := v.(some)
		if s.N != 0 && (s.N < 3 || s.N > 1024) || s.D > 1500*time.Millisecond || s.Part > 0.5 {
			return os.ErrInvalid
		}
		return nil
	}}
	for field, want := range map[string]string{ // order: each is asked by itself
		"N": "3 to 1 KiB", "D": "at most 1.5 s", "Part": "at most 0.5", "Free": "",
	} {
		low, high, ok := g.limits(reflect.ValueOf(some{}), field, field == "N")
		if got := between(low, high); got != want || !ok {
			t.Errorf("%s: %q, want %q", field, got, want)
		}
	}
	if _, _, ok := g.limits(reflect.ValueOf(some{}), "Name", false); ok {
		t.Error("a name has limits")
	}
}

// TestCounterparts reads a table from the page on a design.
func TestCounterparts(t *testing.T) {
	const lines = "downing-provider, ...active-strategy  Downing   KeepMajority\n" +
		"...stable-after        T.StableAfter, T.CrashStableAfter   5 s\n" +
		"...down-if-alone, role    downing.KeepOldest.DownIfAlone, Role   off\n" +
		"(none)     FormatMax   x\nlog     none: it is so\n"
	more := strings.Repeat("x      Seeds     y\n", 10)
	page := "## Settings of the reference: the cluster\n\n```text\n" + lines + more +
		"```\n\n## Next\n\ny     Roles    z\n"
	rows, err := tables[0].rows(fstest.MapFS{"ddata/design.md": {Data: []byte(page)}})
	if err != nil {
		t.Fatal(err)
	}
	got := map[string][]string{}
	for _, r := range rows {
		for _, n := range tables[0].names(r[1]) {
			got[n] = append(got[n], r[0])
		}
	}
	for n, want := range map[string]string{
		"ddata.Config.Downing":                 "downing-provider, ...active-strategy",
		"ddata.Config.Timing.CrashStableAfter": "split-brain-resolver.stable-after",
		"downing.KeepOldest.Role":              "split-brain-resolver.down-if-alone, role",
	} {
		if !slices.Equal(got[n], []string{want}) {
			t.Errorf("%s has %q, want %q", n, got[n], want)
		}
	}
	if got["ddata.Config.Roles"] != nil || got["ddata.Config.FormatMax"] != nil ||
		len(got["ddata.Config.Seeds"]) != 10 {
		t.Error(got)
	}
}
