package bootstrap

import (
	"errors"
	"fmt"
	"strings"
	"unicode/utf8"

	"github.com/coterie-go/coterie/ddata/membership/view"
	"github.com/zeebo/xxh3"
)

// Setting is something that all nodes must have configured alike: its name, and its value as it is
// shown when it differs.
type Setting struct {
	_     struct{} `cbor:",toarray"`
	Name  string
	Value string
}

// NewSetting makes a setting. What of a value is too long to be shown is told by a hash, so that
// values that differ stay different.
func NewSetting(name string, value any) Setting {
	text := strings.ToValidUTF8(fmt.Sprint(value), "?")
	return Setting{Name: name, Value: Shorten(text, settingMax, fmt.Sprintf("… (hash %016x)", xxh3.HashString(text)))}
}

// differences says which settings of two nodes differ, and how, in at most ReasonMax bytes.
func differences(at string, ours []Setting, otherAt string, theirs []Setting) string {
	values := make(map[string]string, len(theirs))
	for _, s := range theirs {
		values[s.Name] = s.Value
	}
	var out []string
	for _, s := range ours {
		value, ok := values[s.Name]
		delete(values, s.Name)
		if !ok {
			value = "unknown"
		}
		if value != s.Value {
			out = append(out, fmt.Sprintf("%s is %s at %s and %s at %s", s.Name, s.Value, at, value, otherAt))
		}
	}
	for _, s := range theirs {
		if value, ok := values[s.Name]; ok {
			out = append(out, fmt.Sprintf("%s is unknown at %s and %s at %s", s.Name, at, value, otherAt))
		}
	}
	if text := strings.Join(out, "; "); text != "" {
		return Shorten(text, ReasonMax, "…")
	}
	return "the settings come in another order" // of another build: it counts as another configuration
}

// Shorten cuts a text to at most so many bytes, the end that it then gets included.
func Shorten(text string, most int, end string) string {
	if len(text) <= most {
		return text
	}
	cut := max(0, most-len(end))
	for cut > 0 && !utf8.RuneStart(text[cut]) {
		cut--
	}
	return text[:cut] + end
}

// CheckSettings holds settings to their bounds.
func CheckSettings(ss []Setting) error {
	if len(ss) > settingsMax {
		return errors.New("too many settings")
	}
	seen := make(map[string]bool, len(ss))
	for _, s := range ss {
		if s.Name == "" || len(s.Name) > view.NameMax || len(s.Value) > settingMax ||
			!utf8.ValidString(s.Name+s.Value) || seen[s.Name] {
			return fmt.Errorf("setting %.40q is given twice, too long or not UTF-8", s.Name)
		}
		seen[s.Name] = true
	}
	return nil
}
