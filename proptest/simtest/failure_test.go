package simtest

import "testing"

// The command on a page runs the test of that name, whatever the name means to a shell, or as a pattern; and the pages
// stand beside the file of rapid.
func TestNamesOfTests(t *testing.T) {
	for name, want := range map[string][2]string{
		"TestBag": {"go -C '/a b' test -run '^TestBag$'", "TestBag"},
		"TestCases/two_(of_a_kind)": {
			`go -C '/a b' test -run '^TestCases$/^two_\(of_a_kind\)$'`, "TestCases_two__of_a_kind_",
		},
		"TestCases/it's_a.b": {`go -C '/a b' test -run '^TestCases$/^it'\''s_a\.b$'`, "TestCases_it_s_a_b"},
	} {
		if got := replayOf("/a b", name); got != want[0] {
			t.Errorf("%s: %s, want %s", name, got, want[0])
		}
		if got := fileName(name); got != want[1] {
			t.Errorf("%s: %s, want %s", name, got, want[1])
		}
	}
}
