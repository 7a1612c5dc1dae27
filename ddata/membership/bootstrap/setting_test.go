package bootstrap

import (
	"errors"
	"fmt"
	"strings"
	"testing"
	"unicode/utf8"
)

// TestSettingsAreShortened: values that are too long to be told stay different, and what is told is
// bounded.
func TestSettingsAreShortened(t *testing.T) {
	long := strings.Repeat("ü", settingMax)
	a, b := NewSetting("Keys", long+"a"), NewSetting("Keys", long+"b")
	if a == b || len(a.Value) > settingMax || !strings.HasPrefix(a.Value, "üüü") {
		t.Errorf("%q and %q", a, b)
	}
	var ours, theirs []Setting
	for i := range settingsMax {
		ours = append(ours, NewSetting(fmt.Sprint(i), long))
		theirs = append(theirs, NewSetting(fmt.Sprint(i), i))
	}
	if err := errors.Join(CheckSettings(ours), CheckSettings(theirs)); err != nil {
		t.Error(err)
	}
	if text := differences("a", ours, "b", theirs); len(text) > ReasonMax || !utf8.ValidString(text) ||
		!strings.HasSuffix(text, "…") {
		t.Errorf("%d bytes: %q", len(text), text)
	}
	for _, bad := range [][]Setting{
		append(ours, NewSetting("more", 1)), {a, a}, {{Name: "x", Value: long}}, {{Value: "x"}},
		{{Name: "x", Value: "\xff"}},
	} {
		if CheckSettings(bad) == nil {
			t.Errorf("%v is taken", bad)
		}
	}
}
