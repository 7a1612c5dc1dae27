package sharding_test

import (
	"os"
	"reflect"
	"regexp"
	"strings"
	"testing"

	"github.com/coterie-go/coterie/ddata"
	"github.com/coterie-go/coterie/sharding"
	"github.com/coterie-go/coterie/sharding/allocation"
	"github.com/coterie-go/coterie/sharding/daemon"
	"github.com/coterie-go/coterie/sharding/delivery"
	"github.com/coterie-go/coterie/sharding/ledger"
	"github.com/coterie-go/coterie/sharding/passivation"
	"github.com/coterie-go/coterie/sharding/protocol"
	"github.com/coterie-go/coterie/sharding/remember/journaled"
)

// TestSettings: what the table of settings in design.md names exists, each row says
// something of itself, and none comes twice.
func TestSettings(t *testing.T) {
	types := map[string]reflect.Type{
		"EntityType": reflect.TypeFor[sharding.EntityType[any]](), "ddata.Config": reflect.TypeFor[ddata.Config](),
		"passivation.Strategy":    reflect.TypeFor[passivation.Strategy](),
		"allocation.LeastShard":   reflect.TypeFor[allocation.LeastShard](),
		"allocation.Threshold":    reflect.TypeFor[allocation.Threshold](),
		"protocol.Config":         reflect.TypeFor[protocol.Config](),
		"daemon.Config":           reflect.TypeFor[daemon.Config](),
		"delivery.Config":         reflect.TypeFor[delivery.Config](),
		"journaled.Config":        reflect.TypeFor[journaled.Config](),
		"ledger.Config":           reflect.TypeFor[ledger.Config](),
		"delivery.ConsumerConfig": reflect.TypeFor[delivery.ConsumerConfig](),
	}
	text, err := os.ReadFile("design.md")
	if err != nil {
		t.Fatal(err)
	}
	_, table, _ := strings.Cut(string(text), "## Settings\n")
	columns, rows := regexp.MustCompile(` {2,}`), map[string]bool{}
	_, table, _ = strings.Cut(table, "```text\n")
	table, _, _ = strings.Cut(table, "\n```")
	for _, l := range strings.Split(table, "\n") {
		row := columns.Split(l, 3)
		if len(row) < 3 || row[2] == "" || rows[row[0]] {
			t.Errorf("%q: want a setting, once, a name and a default or a reason", l)
			continue
		}
		rows[row[0]] = true
		if row[1] == "none" || row[1] == "Health" {
			continue
		}
		for _, name := range strings.Split(row[1], ", ") {
			if !isField(types, name) {
				t.Errorf("%q: there is no %s", row[0], name)
			}
		}
	}
	if len(rows) < 70 {
		t.Errorf("%d rows", len(rows))
	}
}

// isField follows a name of the table from a type through its fields.
func isField(types map[string]reflect.Type, name string) bool {
	for at, of := range types { // order: at most one begins the name
		path, is := strings.CutPrefix(name, at+".")
		if !is {
			continue
		}
		for _, field := range strings.Split(path, ".") {
			f, ok := of.FieldByName(field)
			if !ok {
				return false
			}
			of = f.Type
		}
		return true
	}
	return false
}
