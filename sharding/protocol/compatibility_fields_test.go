package protocol

import (
	"reflect"
	"strings"
	"testing"
)

// Every setting that nodes compare is in both texts that tell of a difference: that of two nodes, and that of a
// second Start on one node.
func TestEachSettingIsTold(t *testing.T) {
	fields := reflect.TypeFor[Compatibility]()
	for i := range fields.NumField() {
		var none, set Compatibility
		value := "true"
		switch f := reflect.ValueOf(&set).Elem().Field(i); f.Kind() {
		case reflect.Bool:
			f.SetBool(true)
		case reflect.String:
			f.SetString("other")
			value = "other"
		default:
			f.SetUint(77)
			value = "77"
		}
		name := fields.Field(i).Name
		if name == "Changing" { // says how another one is compared, and is compared with nothing itself
			continue
		}
		if none.String() == set.String() {
			t.Errorf("%s: a second Start is told %q and %q", name, none, set)
		}
		switch name {
		case "Ledger":
			value = "given"
		case "ShardOf":
			value = `"other"`
		}
		told := none.Differences(set, "there")
		if strings.Count(told, " here and ") != 1 || !strings.Contains(told, value+" there") {
			t.Errorf("%s: nodes are told %q", name, told)
		}
	}
}
