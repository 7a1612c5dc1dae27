package main

import (
	"bytes"
	"context"
	"encoding/json"
	"fmt"
	"net/http"
	"net/http/httptest"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/coterie-go/coterie/ddata/console/api"
)

// fake is a console that answers as it is told.
type fake struct {
	*httptest.Server
	mu      sync.Mutex // held while it answers
	cluster api.Cluster
	asked   func(*api.Cluster) // changes what the cluster is when it is asked for; nil: nothing does
	acted   []api.Action
	rounds  int              // of events that were asked for
	lost    []int            // numbers of events that no answer has room for
	silent  []api.Unanswered // from the third round on
}

func newFake(t *testing.T) *fake {
	f := &fake{cluster: api.Cluster{
		Name: "shop",
		View: api.View{Epoch: 7, Format: 2, Members: []api.Member{
			{UID: "aaaaaaaa00000000", Addr: "a:1", Status: "Up", Age: 1, Roles: []string{"r"}, Voter: true,
				Formats: [2]uint32{1, 2}},
			{UID: "bbbbbbbb00000001", Addr: "b:1", Status: "Up", Age: 2, Roles: []string{"r"}, Version: "v\x1b[31m2",
				Formats: [2]uint32{2, 3}},
		}},
		Nodes: []api.Node{{
			UID: "aaaaaaaa00000000", Addr: "a:1", Live: true, Ready: true, Lease: true,
			Roles: []api.Role{{
				Name: "r", Data: "user", CaughtUp: true, Lags: []api.Lag{{Events: 4}},
				Volatile: api.Space{Keys: 3, Digest: "0123456789abcdef"},
			}},
			Types: []api.Type{{Name: "Cart", Role: "r", Shards: 1500, Hosted: 9, Active: 5, Coordinating: true,
				Moves:   api.Moves{UnderWay: 3},
				Dropped: map[string]uint64{"no-home": 2}}},
		}, {
			UID: "bbbbbbbb00000001", Addr: "b:1", Live: true, Ready: true,
			Unreachable: []api.Silence{{UID: "aaaaaaaa00000000", Since: time.Now()}},
		}},
	}}
	f.Server = httptest.NewServer(f)
	t.Cleanup(f.Close)
	return f
}

func (f *fake) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	f.mu.Lock()
	defer f.mu.Unlock()
	var x any
	q := r.URL.Query()
	switch {
	case r.Header.Get("Authorization") != "Bearer look":
		w.WriteHeader(401)
		x = api.Error{Code: api.CodeRefused, Text: "authenticate first"}
	case r.URL.Path == "/c/api/v1/cluster":
		if f.asked != nil {
			f.asked(&f.cluster)
		}
		x = f.cluster
	case r.URL.Path == "/c/api/v1/shards":
		from, _ := strconv.Atoi(q.Get("from"))
		page := api.Shards{Type: q.Get("type"), Total: 1500}
		for i := from; i < min(1500, from+api.PageMax); i++ {
			page.Shards = append(page.Shards, api.Shard{Shard: i, Node: "aaaaaaaa00000000"})
		}
		if from == 0 {
			page.Shards[7].Moving = &api.Moving{From: "aaaaaaaa00000000", Phase: "fencing", Awaits: 2}
		}
		x = page
	case r.URL.Path == "/c/api/v1/entity":
		x = api.Entity{Type: q.Get("type"), ID: q.Get("id"), Node: "aaaaaaaa00000000", Addr: "a:1", Waiting: 3,
			Why: "idle"}
	case r.URL.Path == "/c/api/v1/runbook":
		x = api.Runbook{Alarm: q.Get("alarm"), Text: "# " + q.Get("alarm") + "\n\n\x1b[2JRead on.\n"}
	case r.URL.Path == "/c/api/v1/metrics":
		labels := map[string]string{"role": "r", "op": "get"}
		took := api.Series{Name: "coterie_request_duration_seconds", Labels: labels}
		x = api.Metrics{Nodes: []api.NodeMetrics{
			{UID: "aaaaaaaa00000000", Kept: true, OverMillis: 60000,
				Timings: []api.Timing{{Series: took, Count: 9, P50: .002, P99: 10, Beyond: true}},
				Gauges:  []api.Gauge{{Series: api.Series{Name: "coterie_persistence_waiting"}, Value: 4}}},
			{UID: "bbbbbbbb00000001"},
		}}
	case r.URL.Path == "/c/api/v1/events":
		f.rounds++
		var e api.Events
		if f.rounds > 2 {
			e.Unanswered = f.silent
		}
		for i := range 20 + f.rounds {
			if slices.Contains(f.lost, i+1) {
				continue
			}
			e.Events = append(e.Events, api.Event{Node: "n", Seq: uint64(i + 1), Text: fmt.Sprint("event ", i+1, ".")})
		}
		x = e
	case r.URL.Path == "/c/api/v1/actions" && r.Method == "POST" && r.Header.Get(api.Header) != "":
		var a api.Action
		_ = json.NewDecoder(r.Body).Decode(&a)
		f.acted = append(f.acted, a)
		x = api.Result{Text: "done"}
	default:
		w.WriteHeader(404)
		x = "no error"
	}
	_ = json.NewEncoder(w).Encode(x)
}

// coterie runs the command against the fake.
func (f *fake) coterie(t *testing.T, want int, args ...string) (out, errs string) {
	t.Helper()
	return f.onTerminal(t, want, "", false, args...)
}

func (f *fake) onTerminal(t *testing.T, want int, in string, terminal bool, args ...string) (out, errs string) {
	t.Helper()
	var o, e bytes.Buffer
	vars := map[string]string{"COTERIE_URL": f.URL + "/c/", "COTERIE_TOKEN": "look"}
	c := stdio{in: strings.NewReader(in), out: &o, errs: &e, terminal: terminal,
		getenv: func(name string) string { return vars[name] }}
	if code := run(t.Context(), args, c); code != want {
		t.Fatalf("coterie %q: exit code %d, want %d\n%s%s", args, code, want, o.String(), e.String())
	}
	return o.String(), e.String()
}

func TestLooks(t *testing.T) {
	f := newFake(t)
	out, _ := f.coterie(t, exitOK, "status")
	says(t, out, `cluster +shop`, `format +2; 1 of 2 members speak 3`,
		`2, 2 up, 2 answered, 2 ready, 1 with a lease`, `Cart: 9 of 1500 shards hosted, 5`,
		`silent +00000001 does not hear 00000000`,
		`moving +Cart: 3 shards`)
	out, _ = f.coterie(t, exitOK, "members")
	says(t, out, `UID +ADDRESS`, `00000000 +a:1 +Up +1 +r +- +1-2 +yes +yes +yes +9 +-`, `b:1.*no +0 +00000000`)
	f.cluster.Nodes[0].Types[0].Drain = &api.Drain{}
	out, _ = f.coterie(t, exitOK, "members")
	says(t, out, `a:1.* 9, draining`)
	f.cluster.Nodes[0].Types[0].Drain.Done = true
	out, _ = f.coterie(t, exitOK, "members")
	says(t, out, `a:1.* 9, drained`)
	if strings.Contains(out, "\x1b") {
		t.Errorf("a name steers the terminal: %q", out)
	}
	out, _ = f.coterie(t, exitOK, "roles")
	says(t, out, `r +user +00000000 +a:1 +3 +0 `, ` 4 +yes +01234567 `)
	out, _ = f.coterie(t, exitOK, "types")
	says(t, out, `Cart +r +1500 +9 +0 +5 +00000000 +0 +3 +0 +no-home=2 +-`)
	out, _ = f.coterie(t, exitOK, "times")
	says(t, out, `request_duration_seconds\{op=get,role=r\} +00000000 +9 +0.002 +>10`,
		`persistence_waiting\{\} +00000000 +4`, `none of package events/recent\) +00000001`)
	out, _ = f.coterie(t, exitOK, "shards", "Cart")
	says(t, out, `(?m)^7 .*from 00000000 to -: fencing, 2 nodes have not answered$`)
	if n := strings.Count(out, "\n"); n != 1501 {
		t.Errorf("%d lines", n)
	}
	out, _ = f.coterie(t, exitOK, "where", "Cart", "x y")
	says(t, out, `id +x y`, `node +00000000 a:1`, `3 messages`, `passivation +idle`)
	out, _ = f.coterie(t, exitOK, "events", "-limit", "3")
	says(t, out, `event 21\.`)
	if out, _ = f.coterie(t, exitOK, "runbook", "LeaseLost"); out != "# LeaseLost\n\n [2JRead on.\n" {
		t.Errorf("%q", out)
	}
	var x api.Cluster
	out, _ = f.coterie(t, exitOK, "members", "-json")
	if err := json.Unmarshal([]byte(out), &x); err != nil || x.Name != "shop" {
		t.Errorf("%v %+v", err, x)
	}
}

// What is not well is in the status.
func TestStatusNamesWhatIsNotWell(t *testing.T) {
	f := newFake(t)
	last := time.Unix(1000, 0)
	f.cluster.Nodes[0].Alarms = []api.Alarm{{Kind: "Diverged", Count: 3, Last: last}}
	f.cluster.View.Retirement = &api.Retirement{Ended: "below f00685 but 2", Since: 5, Came: 3}
	n := &f.cluster.Nodes[1]
	n.Alarms = []api.Alarm{{Kind: "Diverged", Count: 2, Last: last.Add(-time.Second)}}
	n.Transport.Dropped = map[string]uint64{"queue-full": 7}
	n.Roles = []api.Role{
		{Name: "r", Data: "user", Silent: true},
		{Name: "s", Data: "user", DigestAlarms: 4, StoreFailed: 5},
	}
	out, _ := f.coterie(t, exitOK, "status")
	says(t, out, `alarm +Diverged: 5, on 00000000, 00000001, the last at `+clock(last), `dropped +Cart: .*no-home=2`,
		`lag +00000000 a:1: role r, user data: .* is 4 events behind`, `stands still +00000001 b:1: role r`,
		`catches up +00000001 b:1: role s`, `diverged +.*role s.*: 4`, `disk failed +.*role s.*: 5 batches`,
		`frames lost +00000001 b:1: queue-full=7`,
		`retired +incarnations below f00685 but 2, since view 5; 3 have come since`)
	f.cluster.View.Retirement = &api.Retirement{Ending: "below f00686 but 1"}
	n.RetirementWaits = "1@b:1"
	out, _ = f.coterie(t, exitOK, "status")
	says(t, out, `retired +no incarnations yet; those below f00686 but 1 retire now; 0 have come since`,
		`retirement +waits for 1@b:1`)
}

// What is partial, refused, not ready or not there has an exit code of its own.
func TestExitCodes(t *testing.T) {
	f := newFake(t)
	f.cluster.Nodes[1].Ready, f.cluster.Nodes[1].Reasons = false, []string{"no lease"}
	out, _ := f.coterie(t, exitUnready, "status")
	says(t, out, `not ready +00000001 b:1: no lease`)
	f.cluster.Nodes[1].Ready = true
	f.coterie(t, exitOK, "status", "-alarms", "1m")
	f.cluster.Nodes[1].At = time.Unix(1000, 0)
	f.cluster.Nodes[1].Alarms = []api.Alarm{{Kind: "Diverged", Count: 3, Last: time.Unix(900, 0)}}
	f.coterie(t, exitOK, "status", "-alarms", "1m")
	_, errs := f.coterie(t, exitAlarms, "status", "-alarms", "2m")
	says(t, errs, `Diverged on 00000001 b:1`)
	f.cluster.Nodes[1].Ready = false
	f.coterie(t, exitOK, "members")
	f.cluster.Unanswered = []api.Unanswered{{UID: "bbbbbbbb00000001", Addr: "b:1", Why: "it hangs"}}
	_, errs = f.coterie(t, exitPartial, "status")
	says(t, errs, `no answer of 00000001 b:1: it hangs`)
	token := filepath.Join(t.TempDir(), "token")
	if err := os.WriteFile(token, []byte("wrong\n"), 0o600); err != nil {
		t.Fatal(err)
	}
	_, errs = f.coterie(t, exitRefused, "members", "-token-file", token)
	says(t, errs, `authenticate first`)
	_, errs = f.coterie(t, exitFailed, "members", "-url", f.URL+"/elsewhere")
	says(t, errs, `no console answers there`)
	_, errs = f.coterie(t, exitFailed, "members", "-url", "http://127.0.0.1:1/")
	says(t, errs, `is a console there\? -url or COTERIE_URL`)
	_, errs = f.coterie(t, exitFailed, "members", "-ca", token)
	says(t, errs, `no certificate in PEM`)
	for _, args := range [][]string{{}, {"explode"}, {"members", "x"}, {"where", "Cart"}, {"members", "-loud"},
		{"status", "-url", "ftp://x"}, {"move", "Cart", "1"}, {"limit", "Cart", "0"}, {"stop-shards", "-yes", "Cart",
			"2-1"},
		{"stop-shards", "-yes", "Cart", "0-99999"}, {"events", "-limit", "0"}, {"watch", "-every", "1ms"}, {"down",
			"b:1"},
		{"completion", "csh"}, {"help", "explode"}, {"data"}} {
		_, errs := f.coterie(t, exitUsage, args...)
		says(t, errs, `usage`)
	}
	if len(f.acted) > 0 {
		t.Errorf("done: %v", f.acted)
	}
}

func TestActs(t *testing.T) {
	f := newFake(t)
	for _, args := range [][]string{
		{"down", "b:1", "-yes"}, {"leave", "-yes", "b:1"}, {"drain", "-yes", "b:1", "Cart"}, {"prepare-shutdown",
			"-yes"},
		{"rebalance", "Cart"}, {"move", "Cart", "-to", "b:1", "3", "7-9"}, {"stop-shards", "-yes", "Cart", "1"},
		{"passivate", "Cart", "--", "-x"}, {"limit", "-node", "b:1", "Cart", "50"},
	} {
		out, _ := f.coterie(t, exitOK, args...)
		says(t, out, `done`)
	}
	want := []api.Action{
		{Do: "down", Node: "b:1"}, {Do: "leave", Node: "b:1"}, {Do: "drain", Node: "b:1", Type: "Cart"},
		{Do: "prepare-shutdown"}, {Do: "rebalance", Type: "Cart"},
		{Do: "move", Node: "b:1", Type: "Cart", Shards: []int{3, 7, 8, 9}}, {Do: "stop-shards", Type: "Cart",
			Shards: []int{1}},
		{Do: "passivate", Type: "Cart", Entity: "-x"}, {Do: "limit", Node: "b:1", Type: "Cart", Limit: 50},
	}
	if got, w := fmt.Sprint(f.acted), fmt.Sprint(want); got != w {
		t.Errorf("%s\nwant\n%s", got, w)
	}
	f.acted = nil
	_, errs := f.onTerminal(t, exitFailed, "n\n", true, "leave", "b:1")
	says(t, errs, `b:1 will leave.*\[y/N\]`, `nothing was done`)
	f.onTerminal(t, exitFailed, "", true, "leave", "b:1")
	if len(f.acted) > 0 {
		t.Errorf("done all the same: %v", f.acted)
	}
	if f.onTerminal(t, exitOK, "yes\n", true, "leave", "b:1"); len(f.acted) != 1 {
		t.Errorf("%v", f.acted)
	}
}

// To wait for a drain lasts until all shards of the node have gone, whatever hinders to see that for a while.
func TestDrainWaits(t *testing.T) {
	f := newFake(t)
	cart, rounds, nodes := &f.cluster.Nodes[0].Types[0], 0, f.cluster.Nodes
	cart.Drain = &api.Drain{Why: "a handler runs"}
	f.asked = func(c *api.Cluster) {
		rounds++
		cart.Hosted = max(0, 9-4*rounds)
		c.Nodes = nodes
		switch rounds {
		case 2:
			c.Nodes = nil
		case 4:
			cart.Drain.Done = true
		}
	}
	out, errs := f.onTerminal(t, exitOK, "", true, "drain", "-yes", "-wait", "00000000", "Cart")
	says(t, out, `done`)
	says(t, errs, `00000000 gives no answer`, `draining 00000000 .* 100 % 5 of 5 shards`)
	if rounds != 4 {
		t.Errorf("%d looks", rounds)
	}
	rounds, cart.Drain.Done = 10, false
	ctx, cancel := context.WithCancel(t.Context())
	f.asked = func(*api.Cluster) { cart.Hosted = 1; cancel() }
	var e bytes.Buffer
	c := stdio{out: &bytes.Buffer{}, errs: &e, getenv: func(string) string { return "" }}
	token := filepath.Join(t.TempDir(), "token")
	if err := os.WriteFile(token, []byte("look"), 0o600); err != nil {
		t.Fatal(err)
	}
	args := []string{"drain", "-yes", "-wait", "-url", f.URL + "/c", "-token-file", token, "a:1"}
	if code := run(ctx, args, c); code != exitFailed {
		t.Errorf("an interrupted wait: exit code %d", code)
	}
	says(t, e.String(), `the drain goes on`)
	f.mu.Lock() // an answer may still be on its way to the wait that has ended
	f.asked, cart.Drain = nil, nil
	f.mu.Unlock()
	for _, words := range [][]string{{"a:1", "Cart"}, {"a:1"}} {
		_, errs = f.coterie(t, exitFailed, append([]string{"drain", "-yes", "-wait"}, words...)...)
		says(t, errs, `started again`)
	}
	_, errs = f.coterie(t, exitFailed, "drain", "-yes", "-wait", "a:1", "Other")
	says(t, errs, `started again`)
}

// A node that was started again at the same address has not drained what the one before did not.
func TestDrainOfAnotherNode(t *testing.T) {
	f := newFake(t)
	cart, rounds := &f.cluster.Nodes[0].Types[0], 0
	cart.Drain = &api.Drain{}
	f.asked = func(c *api.Cluster) {
		if rounds++; rounds == 2 {
			c.Nodes[0].UID, cart.Drain.Done = "00000000000000ff", true
		}
	}
	_, errs := f.coterie(t, exitFailed, "drain", "-yes", "-wait", "a:1")
	says(t, errs, `started again`)
}

// An empty word, as of a variable that is not set, is no node.
func TestEmptyWordIsRefused(t *testing.T) {
	f := newFake(t)
	f.coterie(t, exitUsage, "leave", "-yes", "")
	if len(f.acted) > 0 {
		t.Errorf("acted: %+v", f.acted)
	}
}

// Events are printed once each; of those before the first look the last ten.
func TestWatch(t *testing.T) {
	f := newFake(t)
	ctx, cancel := context.WithTimeout(t.Context(), time.Minute)
	defer cancel()
	out := &untilLines{want: 12, done: cancel}
	c := stdio{out: out, errs: &bytes.Buffer{}, getenv: func(string) string { return "" }}
	token := filepath.Join(t.TempDir(), "token")
	if err := os.WriteFile(token, []byte("look"), 0o600); err != nil {
		t.Fatal(err)
	}
	args := []string{"watch", "-every", "200ms", "-url", f.URL + "/c", "-token-file", token, "-json"}
	if code := run(ctx, args, c); code != exitOK {
		t.Errorf("exit code %d", code)
	}
	var seqs []uint64
	for line := range strings.Lines(out.String()) {
		var e api.Event
		if err := json.Unmarshal([]byte(line), &e); err != nil {
			t.Fatal(err)
		}
		seqs = append(seqs, e.Seq)
	}
	if len(seqs) < 12 || seqs[0] != 12 || !slices.IsSorted(seqs) ||
		len(slices.Compact(slices.Clone(seqs))) != len(seqs) {
		t.Errorf("%v", seqs)
	}
}

// Watching says what is missing: nodes that give no answer, once, and events for which a look had
// no room.
func TestWatchNamesWhatIsMissing(t *testing.T) {
	f := newFake(t)
	f.lost, f.silent = []int{23, 24}, []api.Unanswered{{UID: "bbbbbbbb00000001", Addr: "b:1", Why: "it hangs"}}
	ctx, cancel := context.WithTimeout(t.Context(), time.Minute)
	defer cancel()
	out, errs := &untilLines{want: 15, done: cancel}, &bytes.Buffer{}
	vars := map[string]string{"COTERIE_URL": f.URL + "/c/", "COTERIE_TOKEN": "look"}
	c := stdio{out: out, errs: errs, getenv: func(name string) string { return vars[name] }}
	if code := run(ctx, []string{"watch", "-every", "200ms"}, c); code != exitOK {
		t.Errorf("exit code %d", code)
	}
	says(t, errs.String(), `2 events of n were missed`, `no answer of 00000001 b:1: it hangs`)
	if n := strings.Count(errs.String(), "it hangs"); n != 1 {
		t.Errorf("it is said %d times", n)
	}
}

// untilLines calls done when it has so many lines.
type untilLines struct {
	bytes.Buffer
	want int
	done func()
}

func (u *untilLines) Write(b []byte) (int, error) {
	n, err := u.Buffer.Write(b)
	if bytes.Count(u.Bytes(), []byte("\n")) >= u.want {
		u.done()
	}
	return n, err
}

// Every command is in the help, and in what completes. Shells complete commands, verbs, their flags, and values.
func TestCompletion(t *testing.T) {
	f := newFake(t)
	out, _ := f.coterie(t, exitOK, "help")
	for _, c := range commands() {
		says(t, out, `coterie `+c.name)
		text, _ := f.coterie(t, exitOK, "help", c.name)
		says(t, text, c.name)
		for _, shell := range []string{"bash", "zsh", "fish"} {
			script, _ := f.coterie(t, exitOK, "completion", shell)
			says(t, script, c.name, `url`)
		}
	}
	says(t, firstOf(f.coterie(t, exitOK, "version")), `^coterie .*, go.*, formats \d+ to \d+\n$`)
	for shell, complete := range map[string]func(script string, words []string) string{ // order: none matters
		"bash": func(script string, words []string) string {
			return fmt.Sprintf("%s\nCOMP_WORDS=(%s); COMP_CWORD=%d; _coterie; echo ${COMPREPLY[@]}", script,
				strings.Join(words, " "), len(words)-1)
		},
		"zsh": func(script string, words []string) string { // what its completion system would bring is played
			return fmt.Sprintf("typed=%q\nwords=(%s); CURRENT=%d\n", words[len(words)-1], strings.Join(words, " "),
				len(words)) + `
compadd() { shift; for w in "$@"; do [[ $w == $typed* ]] && print -- $w; done }
_describe() { for w in "${commands[@]}"; do [[ $w == $typed* ]] && print -- ${w%%:*}; done }
_files() { }
` + script
		},
		"fish": func(script string, words []string) string {
			return fmt.Sprintf("%s\ncomplete -C %q", script, strings.Join(words, " "))
		},
	} {
		bin, err := exec.LookPath(shell)
		if err != nil {
			t.Logf("NOT TRIED: %s is missing, so its completion was not run", shell)
			continue
		}
		script, _ := f.coterie(t, exitOK, "completion", shell)
		for typed, want := range map[string]string{"mem": "members", "data ver": "verify", "members -js": "-json",
			"data inspect -k": "-keys", "data remove -ro": "-role", "completion fi": "fish"} { // order: none matters
			words := strings.Fields("coterie " + typed)
			got, err := exec.Command(bin, "-c", complete(script, words)).CombinedOutput()
			first, _, _ := strings.Cut(strings.TrimSpace(string(got)), "\n") // fish adds names of files
			first, _, _ = strings.Cut(first, "\t")                           // and what a word is
			if err != nil && shell != "zsh" || first != want {
				t.Errorf("%s: %q completes to %.300q (%v), want %q", shell, typed, got, err, want)
			}
		}
	}
}

func firstOf(out, _ string) string { return out }

// Each shell offers help as the first word.
func TestHelpIsCompleted(t *testing.T) {
	f := newFake(t)
	for shell, want := range map[string]string{
		"bash": `(?s)COMP_CWORD" = 1.*words=".* help"`, "zsh": `'help:`, "fish": `__fish_use_subcommand -a help `,
	} {
		out, _ := f.coterie(t, exitOK, "completion", shell)
		says(t, out, want)
	}
}
