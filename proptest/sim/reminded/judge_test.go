package reminded

import (
	"errors"
	"testing"
	"time"
)

// TestJudge plays a story that is in order, and one for each rule that is broken.
func TestJudge(t *testing.T) {
	const every = time.Second
	noon := time.Date(2027, 1, 15, 12, 0, 0, 0, time.UTC)
	name := Name{"e", "n"}
	fires := func(j *Judge, number uint64, due time.Time, missed uint64, process uint64) func() {
		return j.Fires("e", number, turn{due, missed}, due, process)
	}
	for _, c := range []struct {
		about string
		want  string // the check that complains; empty: none does
		play  func(j *Judge)
	}{
		{"in order, twice, and every turn", "", func(j *Judge) {
			j.Sets(name, 1, noon, 0, 7)(nil)
			fires(j, 1, noon, 0, 7)()
			fires(j, 1, noon, 0, 8)() // the end was not written
			j.Sets(name, 2, noon, every, 8)(nil)
			fires(j, 2, noon, 3, 8)()
			fires(j, 2, noon.Add(4*every), 0, 8)
			fires(j, 2, noon.Add(4*every), 1, 9)()
			fires(j, 2, noon.Add(6*every), 0, 9)()
			j.Cancels(name, 9)(nil)
		}},
		{"a doubted name", "", func(j *Judge) {
			j.Sets(name, 1, noon, 0, 7)(nil)
			j.Sets(name, 2, noon, 0, 7)(errors.New("lost"))
			fires(j, 1, noon, 0, 8)()
		}},
		{"overtaken", "what was taken away does not come", func(j *Judge) {
			j.Sets(name, 1, noon, 0, 7)(errors.New("late"))
			j.Cancels(name, 7)(nil)
			fires(j, 1, noon, 0, 8)()
		}},
		{"overtaken by what does not come", "missing", func(j *Judge) {
			j.Cancels(name, 7)(errors.New("late"))
			j.Sets(name, 1, noon, 0, 7)(nil)
		}},
		{"two processes at one time", "", func(j *Judge) {
			first := j.Sets(name, 1, noon, 0, 7)
			j.Sets(name, 2, noon, 0, 8)(nil)
			first(nil)
			fires(j, 1, noon, 0, 9)()
		}},
		{"a change whose outcome no handler hears", "", func(j *Judge) {
			j.Sets(name, 1, noon, 0, 7)(nil)
			j.Cancels(name, 7)
		}},
		{"not its own", "reminders are of their entity", func(j *Judge) {
			j.Sets(Name{"other", "n"}, 1, noon, 0, 7)(nil)
			fires(j, 1, noon, 0, 7)()
		}},
		{"early", "no reminder comes before its time", func(j *Judge) {
			j.Sets(name, 1, noon, 0, 7)(nil)
			j.Fires("e", 1, turn{due: noon}, noon.Add(-1), 7)()
		}},
		{"replaced", "what was taken away does not come", func(j *Judge) {
			j.Sets(name, 1, noon, 0, 7)(nil)
			j.Sets(name, 2, noon, 0, 7)(nil)
			fires(j, 2, noon, 0, 8)()
			fires(j, 1, noon, 0, 8)()
		}},
		{"a turn is left out", "each turn comes or is missed", func(j *Judge) {
			j.Sets(name, 1, noon, every, 7)(nil)
			fires(j, 1, noon, 1, 7)()
			fires(j, 1, noon.Add(3*every), 0, 7)()
		}},
		{"one that does not come", "missing", func(j *Judge) { j.Sets(name, 1, noon, 0, 7)(nil) }},
		{"the handler has failed", "missing", func(j *Judge) {
			j.Sets(name, 1, noon, 0, 7)(nil)
			fires(j, 1, noon, 0, 7)
		}},
		{"the handler has failed on a node whose clock is ahead", "", func(j *Judge) {
			j.Sets(name, 1, noon, 0, 7)(nil)
			fires(j, 1, noon, 0, 8)
			j.Failed(1, noon.Add(time.Hour))
		}},
		{"the handler has failed, and the pause is over", "missing", func(j *Judge) {
			j.Sets(name, 1, noon, 0, 7)(nil)
			fires(j, 1, noon, 0, 8)
			j.Failed(1, noon.Add(time.Second))
		}},
		{"a later turn that does not come", "missing", func(j *Judge) {
			j.Sets(name, 1, noon, every, 7)(nil)
			fires(j, 1, noon, 0, 7)()
		}},
	} {
		t.Run(c.about, func(t *testing.T) {
			got := ""
			j := NewJudge(func(check, _ string, _ ...any) { got = check })
			c.play(j)
			if got == "" && j.Missing(noon.Add(time.Minute)) != 0 {
				got = "missing"
			}
			if got != c.want {
				t.Errorf("%q, want %q", got, c.want)
			}
		})
	}
}
