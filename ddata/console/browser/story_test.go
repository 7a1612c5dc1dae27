package browser

import (
	"fmt"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/chromedp/chromedp"
	"github.com/chromedp/chromedp/kb"

	"github.com/coterie-go/coterie/ddata"
	"github.com/coterie-go/coterie/ddata/ddatatest"
	"github.com/coterie-go/coterie/ddata/tracing/recorder"
	"github.com/coterie-go/coterie/ddata/tracing/story"
	"github.com/coterie-go/coterie/ddata/tracing/viewer"
	"github.com/coterie-go/coterie/proptest/sim"
	"github.com/coterie-go/coterie/proptest/sim/options"
	"github.com/coterie-go/coterie/sharding"
)

// see writes a page to a file, and opens it in a browser. What the page asks beside that file is a fault.
func see(t *testing.T, p viewer.Page) *tab {
	t.Helper()
	bin, err := Chromium.Find()
	if err != nil {
		if Chromium.Required() {
			t.Fatal(err)
		}
		t.Skip("NOT TRIED: ", err) // skip: the machine may lack Chromium
	}
	path := filepath.Join(t.TempDir(), "page.html")
	if err := p.WriteFile(path); err != nil {
		t.Fatal(err)
	}
	x := launch(t, bin, "file://"+path)
	x.run(chromedp.Navigate(x.url))
	x.until(`document.title === document.getElementById("title").textContent && document.querySelector("#rows .row")`)
	return x
}

// blameless fails the test for what a page without a fault does not do.
func (x *tab) blameless() {
	x.t.Helper()
	x.mu.Lock()
	defer x.mu.Unlock()
	for _, fault := range x.faults {
		x.t.Error(fault)
	}
}

// fill types into a filter.
func (x *tab) fill(id, text string) {
	x.t.Helper()
	eval[bool](x, fmt.Sprintf(`(f => (f.value = %q, f.dispatchEvent(new Event("input")), true))(
		document.getElementById(%q))`, text, id))
}

// rows are the texts of the rows.
func (x *tab) rows() []string {
	x.t.Helper()
	return eval[[]string](x, `[...document.querySelectorAll("#rows .row .text")].map(r => r.innerText)`)
}

// odder is an id that a page could take for markup, and for the end of its data.
const odder = `</script><b onclick="x">cart</b>`

func smallStory() viewer.Page {
	ms := int64(time.Millisecond)
	var all []story.Record
	add := func(at int64, r story.Record) {
		r.Time = at * ms
		all = append(all, r)
	}
	for _, node := range []string{"n10", "n2", "n1"} {
		add(0, story.Record{Kind: story.Started, Node: node, Text: "START"})
	}
	message := func(at int64, kind story.Kind, node, peer, name, id string) {
		add(at, story.Record{
			Kind: kind, Node: node, Peer: peer, Message: name, Type: "Cart", ID: id, Text: "tell " + id,
		})
	}
	message(1, story.Sent, "n1", "n10", "1", "c1")
	message(2, story.Sent, "n2", "n1", "2", odder)
	add(3, story.Record{Kind: story.Fault, Text: "CUT n1 to n2"})
	message(4, story.Received, "n10", "n1", "1", "c1")
	add(5, story.Record{Kind: story.Paused, Node: "n2", Text: "PAUSE"})
	message(6, story.Lost, "n2", "n1", "2", odder)
	add(7, story.Record{Node: "n10", Keys: []string{"k1", "k2"}, Text: "update k1\nand k2"})
	add(8, story.Record{Node: "n10", Keys: []string{"k3"}, Text: "update k3"})
	message(8, story.Sent, "n10", "n2", "3", "c3") // and no record of its end
	add(9, story.Record{Kind: story.Resumed, Node: "n2", Text: "RESUME"})
	add(10, story.Record{Kind: story.Ended, Node: "n2", Text: "END"})
	add(11, story.Record{Kind: story.Violation, Text: "no entity twice: c1 runs on n1 and on n10"})
	return viewer.Page{Title: "seed 17: <b>no entity twice</b>", Replay: "go run sim -seed 17", Records: all, Left: 4}
}

// A person looks for why a seed failed: sees the lanes, the arrows and what broke, follows a message, and looks
// at one entity, one key, and fewer nodes. All of that by the page alone, which asks nothing of any network.
func TestStory(t *testing.T) {
	x := see(t, smallStory())
	heads := eval[[]string](x, `[...document.querySelectorAll("#heads button")].map(b => b.innerText)`)
	if !slices.Equal(heads, []string{"n1", "n2", "n10"}) {
		t.Errorf("the lanes are %q", heads)
	}
	x.broken()
	x.arrows()
	x.filters()
	x.keyboard()
	for _, dark := range []bool{true, false} {
		x.key("d")
		if b := eval[string](x, `document.documentElement.dataset.theme`); (b == "dark") != dark {
			t.Errorf("it is %s", b)
		}
		if b := x.picture(""); (b < .4) != dark {
			t.Errorf("dark %t, and it is bright as %.2f", dark, b)
		}
	}
	x.blameless()
}

// broken looks for what broke: the page begins there.
func (x *tab) broken() {
	x.t.Helper()
	if text := x.text("#broken"); !strings.HasPrefix(text, "no entity twice: c1 runs") {
		x.t.Errorf("what broke is %q", text)
	}
	if title := x.text("h1"); title != "seed 17: <b>no entity twice</b>" ||
		x.text("#about") != "go run sim -seed 17 · 4 records were left out" {
		x.t.Errorf("the title is %q", title)
	}
	if !eval[bool](x, `(r => r.top > 0 && r.bottom < innerHeight && r.height > 0)(
		document.querySelector(".row.violation[aria-selected=true]").getBoundingClientRect())`) {
		x.t.Error("what broke is not in the window")
	}
	if n := eval[int](x, `document.querySelectorAll("b").length`); n > 0 {
		x.t.Errorf("%d texts have become markup", n)
	}
	if n := eval[int](x, `[".still", ".down"].filter(c =>
		document.querySelector("#art " + c + "[data-lane='1']")).length`); n != 2 {
		x.t.Error("n2 neither stands still nor ends")
	}
}

// arrows looks for the message that arrives, the one that is lost and the one without an end, between the middles of
// their lanes.
func (x *tab) arrows() {
	x.t.Helper()
	if n := eval[int](x, `document.querySelectorAll("#art .arrow").length`); n != 3 {
		x.t.Errorf("%d arrows", n)
	}
	off := eval[float64](x, `(() => {
		const middle = n => (r => r.left + r.width / 2)(
			document.querySelectorAll("#heads button")[n].getBoundingClientRect());
		const line = document.querySelector("#art .arrow[data-from='0'][data-to='2']:not(.gone)");
		const left = document.getElementById("art").getBoundingClientRect().left;
		const at = name => Number(line.getAttribute(name));
		return Math.max(Math.abs(left + at("x1") - middle(0)), Math.abs(left + at("x2") - middle(2)),
			at("y2") <= at("y1") ? 1000 : 0);
	})()`)
	if off > 3 {
		x.t.Errorf("the arrow from n1 to n10 is %.0f pixels off its lanes", off)
	}
	if !eval[bool](x, `document.querySelector("#art .arrow.gone[data-from='1'][data-to='0']")`+" !== null") {
		x.t.Error("no lost message from n2 to n1")
	}
	if !eval[bool](x, `document.querySelector("#art .arrow.open[data-from='2'][data-to='1']")`+" !== null") ||
		eval[int](x, `document.querySelectorAll("#art .cross").length`) != 2 { // of the lost one: its record, and its arrow
		x.t.Error("the message from n10 to n2 counts as lost")
	}
}

// filters looks at one entity, one key, and one node less.
func (x *tab) filters() {
	x.t.Helper()
	x.fill("entity", "Cart/c1")
	x.until(`document.getElementById("count").value === "10 of 15 records"`)
	for _, row := range x.rows() {
		if strings.Contains(row, "cart</b>") || strings.Contains(row, "update") {
			x.t.Errorf("of another entity: %q", row)
		}
	}
	rows := strings.Join(x.rows(), "|")
	if !strings.Contains(rows, "CUT") || !strings.Contains(rows, "no entity twice") {
		x.t.Errorf("the faults are gone: %q", rows)
	}
	x.run(chromedp.Click(chromedp.CSS("#clear")))
	x.until(`document.getElementById("count").value === "15 records"`)
	eval[bool](x, `document.getElementById("r9").click(), true`)
	text := x.text("#details")
	if !strings.Contains(text, "update k1\nand k2") || !strings.Contains(text, "0.007000 s") {
		x.t.Errorf("the details are %q", text)
	}
	eval[bool](x, `[...document.querySelectorAll("#details button")].find(b => b.innerText === "k2").click(), true`)
	x.until(`document.getElementById("count").value === "9 of 15 records"`)
	if !eval[bool](x, `document.getElementById("r9") !== null && document.getElementById("r10") === null`) {
		x.t.Errorf("the rows of k2 are %q", x.rows())
	}
	eval[bool](x, `document.querySelector("#heads button[data-lane=n2]").click(), true`)
	x.until(`document.getElementById("count").value === "5 of 15 records"`)
	x.fill("words", "no such words")
	x.until(`document.getElementById("count").value === "1 of 15 records"`) // what broke stays
	x.run(chromedp.Click(chromedp.CSS("#clear")))
	x.until(`document.getElementById("count").value === "15 records"`)
}

// keyboard goes through the story by keys alone.
func (x *tab) keyboard() {
	x.t.Helper()
	chosen := func(row int) {
		x.t.Helper()
		x.until(fmt.Sprintf(`document.getElementById("list").getAttribute("aria-activedescendant") === "r%d" &&
			document.getElementById("r%d").getAttribute("aria-selected") === "true"`, row, row))
	}
	eval[bool](x, `document.getElementById("list").focus(), true`)
	x.key(kb.Home)
	chosen(0)
	x.key(kb.ArrowDown + kb.ArrowDown + kb.ArrowDown)
	chosen(3)
	x.key("m")
	chosen(6)
	if text := x.text("#details"); !strings.Contains(text, "sent 3.000 ms before") {
		x.t.Errorf("the details are %q", text)
	}
	x.key("m")
	chosen(3)
	x.key("n")
	chosen(5)
	x.key("N")
	chosen(2)
	x.key("v")
	chosen(14)
	x.key("/")
	x.fill("words", "") // the driver types what a browser would not
	x.key("n")
	if !eval[bool](x, `document.activeElement.id === "words" && document.activeElement.value === "n"`) {
		x.t.Error("the filter does not take the keys")
	}
	x.key(kb.Escape)
	x.fill("words", "")
	x.until(`document.activeElement.id === "list" && document.getElementById("count").value === "15 records"`)
	if label := eval[string](x, `document.getElementById("r6").getAttribute("aria-label")`); label !=
		"0.004000 seconds, n10, received from n1: tell c1" {
		x.t.Errorf("a reader says %q", label)
	}
}

// A story of 60,000 records stays quick, and few of them are drawn.
func TestLargeStory(t *testing.T) {
	var all []story.Record
	for i := range 30_000 {
		at, id := int64(i)*1e6, fmt.Sprintf("c%d", i%500)
		from, to := fmt.Sprintf("n%d", i%12), fmt.Sprintf("n%d", (i*7+1)%12)
		m := story.Record{Time: at, Message: fmt.Sprint(i), Type: "Cart", ID: id, Text: strings.Repeat("x", 100)}
		m.Kind, m.Node, m.Peer = story.Sent, from, to
		all = append(all, m)
		if m.Kind, m.Node, m.Peer = story.Received, to, from; i%10 == 0 {
			m.Kind, m.Node, m.Peer = story.Lost, from, to
		}
		all = append(all, m)
	}
	x := see(t, viewer.Page{Title: "large", Records: all})
	for _, c := range []struct{ what, does string }{
		{"the end", `list.scrollTop = list.scrollHeight; draw(false)`},
		{"the middle", `choose(30000, true)`},
		{"a filter", `document.getElementById("entity").value = "Cart/c7"; refilter()`},
		{"words", `document.getElementById("words").value = "nothing"; refilter()`},
		{"all", `clear()`},
	} {
		took := eval[float64](x, `(() => { const list = document.getElementById("list"), at = performance.now(); `+c.does+
			`; return performance.now() - at })()`)
		n := eval[int](x, `document.querySelectorAll("#rows .row").length + document.querySelectorAll("#art *").length`)
		t.Logf("%s: %.0f ms, %d elements", c.what, took, n)
		if n > 3000 || took > 3000 {
			t.Errorf("%s: %.0f ms, %d elements are drawn", c.what, took, n)
		}
	}
	x.blameless()
}

// A seed of the simulator that breaks a promise is shown with what broke, and with messages.
func TestSimulatedStory(t *testing.T) {
	plan := options.Plan{Swarm: options.Cluster, Defect: "reply-twice"}
	log := story.NewLog(0)
	r := sim.Run(1, plan, log)
	if r.Violation == nil {
		t.Fatal("the defect is not caught")
	}
	x := see(t, viewer.Page{Title: "seed 1", Replay: sim.Replay(1, plan), Records: log.Records(), Left: log.Left()})
	if text := x.text("#broken"); !strings.HasPrefix(text, r.Violation.Check) {
		t.Errorf("what broke is %q, not %q", text, r.Violation.Check)
	}
	if n := eval[int](x, `state.arrows.length`); n < 100 {
		t.Errorf("%d arrows", n)
	}
	x.blameless()
}

// Three nodes that recorded themselves are shown as one story, with a message from one to another.
func TestLiveStory(t *testing.T) {
	out := make([]strings.Builder, 3)
	var recs []*recorder.Recorder
	for i := range out {
		recs = append(recs, recorder.New(recorder.Config{Node: fmt.Sprint("node-", i), Out: &out[i]}))
	}
	nodes := ddatatest.StartWith(t, 3, func(i int, c *ddata.Config) { c.Tracer, c.OnEvent = recs[i], recs[i].Event })
	var regions []*sharding.Region[any]
	for _, n := range nodes {
		region, err := sharding.Start(n, sharding.EntityType[any]{
			Identity: sharding.Identity{Name: "Cart", Role: ddata.DefaultRole, Shards: shards},
			Messages: sharding.CBOR[any](count{}),
			New:      func(*sharding.Context[any]) sharding.Entity[any] { return &cart{} },
		})
		if err != nil {
			t.Fatal(err)
		}
		regions = append(regions, region)
	}
	for i := range 20 {
		if _, err := sharding.Ask(t.Context(), regions[0].Ref(fmt.Sprint("c", i)), count{}); err != nil {
			t.Fatal(err)
		}
	}
	_ = nodes[2].Close() // a crash, as the others see it
	var stories [][]story.Record
	for i, n := range nodes {
		_ = n.Close()
		if err := recs[i].Close(); err != nil {
			t.Fatal(err)
		}
		var told []story.Record
		for r, err := range story.Read(strings.NewReader(out[i].String())) {
			if err != nil {
				t.Fatal(err)
			}
			told = append(told, r)
		}
		stories = append(stories, told)
	}
	x := see(t, viewer.Page{Title: "live", Records: story.Merge(stories...)})
	if n := eval[int](x, `document.querySelectorAll("#heads button").length`); n != 3 {
		t.Errorf("%d lanes", n)
	}
	for _, way := range [][2]int{{0, 1}, {1, 0}, {0, 2}, {2, 0}} { // questions, and their answers
		if !eval[bool](x, fmt.Sprintf(`state.arrows.some(a => a[2] === %d && a[3] === %d && a[4] === "")`, way[0], way[1])) {
			t.Errorf("no arrow from lane %d to lane %d", way[0], way[1])
		}
	}
	x.blameless()
}
