package browser

import (
	"bytes"
	"context"
	"flag"
	"fmt"
	"image/png"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/chromedp/cdproto/cdp"
	"github.com/chromedp/cdproto/log"
	"github.com/chromedp/cdproto/network"
	"github.com/chromedp/cdproto/runtime"
	"github.com/chromedp/chromedp"
	"github.com/chromedp/chromedp/kb"
)

var screenshots = flag.Bool("screenshots", false, "write the pictures of the package comment of console")

// patience is for what comes soon, on a machine that is busy.
const patience = 2 * time.Minute

// tab is one of a browser, that looks at the page.
type tab struct {
	t   *testing.T
	ctx context.Context
	url string

	mu     sync.Mutex
	faults []string // what the page's script or its policy complained about, and what was asked of others
}

// launch starts a browser that looks at a shop as an operator.
func launch(t *testing.T, bin, url string) *tab {
	t.Helper()
	opts := append(slices.Clone(chromedp.DefaultExecAllocatorOptions[:]), chromedp.ExecPath(bin), chromedp.NoSandbox,
		chromedp.WindowSize(1280, 900))
	alloc, stop := chromedp.NewExecAllocator(t.Context(), opts...)
	t.Cleanup(stop)
	ctx, cancel := chromedp.NewContext(alloc)
	t.Cleanup(cancel)
	x := &tab{t: t, ctx: ctx, url: url}
	if err := chromedp.Do(ctx); err != nil { // the browser lives as long as the first context
		t.Fatal(err)
	}
	x.run(do(network.Enable, network.EnableParams{}), do(runtime.Enable, cdp.Empty{}), do(log.Enable, cdp.Empty{}),
		bearer("steer"))
	if err := chromedp.Listen(ctx, x.hear); err != nil {
		t.Fatal(err)
	}
	return x
}

// do is a command to the browser.
func do[P any](c cdp.Command[P, cdp.Empty], params P) chromedp.Action[chromedp.Void] {
	return chromedp.Func(func(ctx context.Context, t *chromedp.Target) error {
		_, err := cdp.Call(ctx, t, c, params)
		return err
	})
}

// bearer has every request bring a token.
func bearer(token string) chromedp.Action[chromedp.Void] {
	return do(network.SetExtraHTTPHeaders, network.SetExtraHTTPHeadersParams{
		Headers: network.Headers{"Authorization": "Bearer " + token},
	})
}

// hear notes what a page without a fault does not do.
func (x *tab) hear(e any) {
	fault := ""
	switch e := e.(type) {
	case *runtime.EventExceptionThrown:
		fault = fmt.Sprintf("exception: %+v", e.ExceptionDetails)
	case *log.EventEntryAdded:
		if e.Entry.Level == log.EntryLevelError && !strings.Contains(e.Entry.Text, "Failed to load resource") {
			fault = "log: " + e.Entry.Text
		}
	case *network.EventRequestWillBeSent:
		if !strings.HasPrefix(e.Request.URL, x.url) && !strings.HasPrefix(e.Request.URL, "about:") {
			fault = "it asks elsewhere: " + e.Request.URL
		}
	}
	if fault != "" {
		x.mu.Lock()
		defer x.mu.Unlock()
		x.faults = append(x.faults, fault)
	}
}

func (x *tab) run(actions ...chromedp.Action[chromedp.Void]) {
	x.t.Helper()
	get(x, chromedp.Steps(actions...))
}

// get runs an action, within the patience of a test.
func get[T any](x *tab, a chromedp.Action[T]) T {
	x.t.Helper()
	ctx, cancel := context.WithTimeout(x.ctx, patience)
	defer cancel()
	v, err := chromedp.Run(ctx, a)
	if err != nil {
		x.t.Fatal(err)
	}
	return v
}

// eval is the value of an expression in the page.
func eval[T any](x *tab, js string) T {
	x.t.Helper()
	return get(x, chromedp.Evaluate[T](js))
}

// until looks at the page again and again until an expression is true.
func (x *tab) until(js string) {
	x.t.Helper()
	ctx, cancel := context.WithTimeout(x.ctx, patience)
	defer cancel()
	for !eval[bool](x, "!!("+js+")") {
		select {
		case <-ctx.Done():
			x.t.Fatalf("it does not become true: %s\nthe page is:\n%s", js, eval[string](x, "document.body.innerText"))
		case <-time.After(50 * time.Millisecond):
		}
	}
}

func (x *tab) text(selector string) string {
	x.t.Helper()
	return eval[string](x, fmt.Sprintf("document.querySelector(%q).innerText", selector))
}

func (x *tab) key(keys string) {
	x.t.Helper()
	x.run(chromedp.KeyEvent(keys))
}

// picture takes a picture, and writes it where the docs have it if that is wanted and it has a name. It
// returns how bright it is, from 0 to 1.
func (x *tab) picture(name string) (brightness float64) {
	x.t.Helper()
	b := get(x, chromedp.CaptureScreenshot())
	img, err := png.Decode(bytes.NewReader(b))
	if err != nil {
		x.t.Fatal(err)
	}
	var sum, n float64
	for y := img.Bounds().Min.Y; y < img.Bounds().Max.Y; y += 7 {
		for c := img.Bounds().Min.X; c < img.Bounds().Max.X; c += 7 {
			r, g, b, _ := img.At(c, y).RGBA()
			sum, n = sum+float64(r+g+b)/3/0xffff, n+1
		}
	}
	if *screenshots && name != "" {
		if err := os.WriteFile(filepath.Join("..", "docs", name+".png"), b, 0o644); err != nil {
			x.t.Fatal(err)
		}
	}
	return sum / n
}

// visitShop opens a shop, and a browser that can look at it.
func visitShop(t *testing.T) (*shop, *tab) {
	t.Helper()
	bin, err := Chromium.Find()
	if err != nil {
		if Chromium.Required() {
			t.Fatal(err)
		}
		t.Skip("NOT TRIED: ", err) // skip: the machine may lack Chromium
	}
	s := openShop(t)
	return s, launch(t, bin, s.server.URL)
}

// An operator sees a node die, tells the cluster, brings another in, and has the shards balanced: all by the page.
func TestPage(t *testing.T) {
	s, x := visitShop(t)
	x.run(chromedp.Navigate(s.server.URL + "/coterie/"))
	x.until(`document.querySelectorAll("#members .card").length === 3`)
	x.until(`document.getElementById("state").innerText === "3 of 3 nodes ready"`)
	if name := x.text("#name"); name != "shop" {
		t.Errorf("the cluster is called %q", name)
	}
	x.entities(s)
	x.times(s)
	x.kill(s)
	x.runbook()
	x.balance(s)
	x.steer()
	x.passivate()
	x.outage(s)
	x.looks()
	x.tabs()
	for _, fault := range x.faults {
		t.Error(fault)
	}
}

// entities finds one, and looks at shards, by the keyboard alone.
func (x *tab) entities(s *shop) {
	x.t.Helper()
	x.key("3")
	x.until(`document.getElementById("find-type").value === "Cart"`)
	if text := x.find(odd); !strings.Contains(text, odd) || eval[int](x,
		`document.querySelectorAll("#found b").length`) > 0 {
		x.t.Errorf("an id becomes markup: %s", text)
	}
	found := x.find("cart-7")
	loc, err := s.regions[1].Where(x.t.Context(), "cart-7")
	if err != nil || !strings.Contains(found, loc.Addr) || !strings.Contains(found, fmt.Sprint(loc.Shard)) ||
		!strings.Contains(found, "active") {
		x.t.Errorf("%v is found as %q (%v)", loc, found, err)
	}
	x.run(chromedp.Click(chromedp.CSS(`button[data-shards="Cart"]`)))
	x.until(fmt.Sprintf(`document.querySelectorAll("#map i").length === %d`, shards))
	x.until(`document.querySelectorAll("#map i.empty").length === 0`)
	x.run(chromedp.Focus(chromedp.CSS(`button[data-shards="Cart"]`)))
	x.until(`window.drawn === undefined ? (window.drawn = document.getElementById("asked").innerText, false)
		: document.getElementById("asked").innerText !== window.drawn`)
	if !eval[bool](x, `document.activeElement.dataset.shards === "Cart"`) {
		x.t.Error("a new drawing takes the focus away")
	}
	x.key("1")
	x.until(`!document.querySelector("[data-section=nodes]").hidden`)
}

// times shows what took how long, of all nodes.
func (x *tab) times(s *shop) {
	x.t.Helper()
	s.visit(x.t) // the page has the last minute
	x.key("4")
	for _, what := range []string{"sharding ask duration, type Cart", s.nodes[0].UID().String()} {
		x.until(fmt.Sprintf(`document.getElementById("timings").innerText.includes(%q)`, what))
	}
	if !eval[bool](x, `document.getElementById("times-none").hidden`) {
		x.t.Error("the page says that no node keeps its metrics")
	}
	x.key("1")
}

// find finds an entity by the keyboard alone, and returns what is said of it.
func (x *tab) find(id string) string {
	x.t.Helper()
	eval[bool](x, `document.activeElement.blur(), true`)
	x.key("/")
	x.until(`document.activeElement.id === "find-id"`)
	eval[string](x, `document.getElementById("find-id").value = ""`) // the driver types what a browser would not
	x.key(id + kb.Enter)
	x.until(fmt.Sprintf(`[...document.querySelectorAll("#found h3")].some(h => h.innerText.includes(%q))`, id))
	return x.text("#found")
}

// kill has a node die. It is named as silent until the operator says that it is gone.
func (x *tab) kill(s *shop) {
	x.t.Helper()
	dead := s.nodes[2].Addr()
	_ = s.nodes[2].Close() // a crash, as the others see it
	card := fmt.Sprintf(`[...document.querySelectorAll("#members .card")].find(c => c.innerText.includes(%q))`, dead)
	x.until(card + `.classList.contains("silent")`)
	x.until(`document.querySelectorAll("#reach td.bad").length >= 2`)
	if alerts := x.text("#alerts"); !strings.Contains(alerts, dead) {
		x.t.Errorf("the silent node is not named: %q", alerts)
	}
	if b := x.picture("light"); b < 0.7 {
		x.t.Errorf("the light page is dark: %.2f", b)
	}
	down := card + `.querySelector("button[data-do=down]")`
	eval[bool](x, down+`.click(), true`)
	x.until(`document.getElementById("ask").open`)
	x.key(kb.Escape) // not sure
	x.until(`!document.getElementById("ask").open`)
	if n := len(s.nodes[0].Members()); n != 3 {
		x.t.Errorf("%d members, although nothing was wanted", n)
	}
	eval[bool](x, down+`.click(), true`)
	x.until(`document.getElementById("ask").open`)
	x.run(chromedp.Click(chromedp.CSS("#ask-yes")))
	x.until(`document.querySelectorAll("#members .card").length === 2`)
	x.key("5")
	x.until(`document.getElementById("events").innerText.includes("member removed")`)
	x.until(`document.getElementById("events").innerText.includes("console action do=down")`)
}

// runbook opens the page of an alarm of a node by the keyboard, and that of an alarm of a type. What has no page is
// said, as text.
func (x *tab) runbook() {
	x.t.Helper()
	const text = `document.getElementById("runbook-text").innerText`
	x.until(`document.querySelector("#events button[data-runbook]")`)
	x.key("1")
	const button = `#members button[data-runbook]`
	x.until(fmt.Sprintf(`document.querySelector(%q)`, button))
	kind := x.text(button)
	x.run(chromedp.Focus(chromedp.CSS(button)))
	x.key(kb.Enter)
	x.until(text + `.includes("## What to do")`)
	if title := x.text("#runbook-title"); !strings.HasPrefix(x.text("#runbook-text"), "# "+title) || title != kind {
		x.t.Errorf("the page of %s is that of %s", kind, title)
	}
	x.key(kb.Escape)
	x.until(`!document.getElementById("runbook").open`)
	if !eval[bool](x, `document.activeElement.dataset.runbook`+fmt.Sprintf(` === %q`, kind)) {
		x.t.Error("the page of an alarm takes the focus away")
	}
	eval[bool](x, `state.cluster.nodes[0].types[0].alarms = { "hand-off-aborted": 1 }, renderTypes(state.cluster),
		document.querySelector("#types button[data-runbook]").click(), true`)
	x.until(text + `.startsWith("# HandOffAborted")`)
	x.key(kb.Escape)
	x.until(`!document.getElementById("runbook").open`)
	eval[bool](x, `runbook("<b>x</b>"), true`)
	x.until(text + `.includes('"<b>x</b>" has no page')`)
	if eval[int](x, `document.querySelectorAll("#runbook b").length`) > 0 {
		x.t.Error("the name of an alarm becomes markup")
	}
	x.key(kb.Escape)
	x.until(`!document.getElementById("runbook").open`)
	eval[bool](x, `document.activeElement.blur(), true`)
}

// balance brings a node in, says which shards shall live there, and has them move.
func (x *tab) balance(s *shop) {
	x.t.Helper()
	s.visit(x.t) // the shards of the dead node have homes again, so that the new one gets none unasked
	fresh := s.join(x.t)
	x.key("1")
	x.until(`document.querySelectorAll("#members .card").length === 3`)
	x.key("3")
	uid := fmt.Sprintf("%016x", uint64(fresh.UID()))
	hosted := fmt.Sprintf(`(((state.cluster.nodes || []).find(n => n.uid === %q) || {}).types || [])
		.reduce((s, t) => s + t.hosted, 0)`, uid)
	x.pick("3", 1)
	x.pick("4", 2)
	eval[string](x, fmt.Sprintf(`document.getElementById("shards-to").value = %q`, uid))
	x.sure("#shards-move")
	x.until(`document.getElementById("alerts").innerText.includes("2 shards shall live on")`)
	x.pick("3", 1)
	x.pick("4", 0)
	for deadline := time.Now().Add(patience); eval[int](x, hosted) != 2; {
		if time.Now().After(deadline) {
			x.t.Fatalf("no shard moves to the new node: %s", x.text("#alerts"))
		}
		// it is refused while no coordinator is known, which the operator reads, and tries again
		eval[bool](x, `state.notes = [], document.querySelector("button[data-do=rebalance]").click(), true`)
		x.until(`state.notes.length > 0`)
	}
	x.until(`document.querySelector("#alerts .good")`)
}

// pick clicks the box of a shard in the table, or the one of all that are shown.
func (x *tab) pick(which string, chosen int) {
	x.t.Helper()
	x.until(fmt.Sprintf(`document.querySelectorAll("#shards-table tbody input").length === %d`, shards))
	x.run(chromedp.Click(chromedp.CSS(`input[data-pick="` + which + `"]`)))
	x.until(fmt.Sprintf(`document.getElementById("shards-act").innerText.includes("With %d chosen")`, chosen))
}

// sure clicks a button, and answers the question whether that is meant with yes.
func (x *tab) sure(button string) {
	x.t.Helper()
	x.run(chromedp.Click(chromedp.CSS(button)))
	x.until(`document.getElementById("ask").open`)
	x.run(chromedp.Click(chromedp.CSS("#ask-yes")))
}

// steer stops shards, and sets a limit.
func (x *tab) steer() {
	x.t.Helper()
	x.pick("all", shards)
	x.pick("all", 0)
	x.pick("5", 1)
	x.sure("#shards-stop")
	x.until(`document.getElementById("alerts").innerText.includes("1 shards have stopped")`)
	x.run(chromedp.Click(chromedp.CSS(`button[data-limit="Cart"]`)))
	x.until(`document.getElementById("limit").open`)
	eval[string](x, `document.getElementById("limit-n").value = "77000"`)
	x.run(chromedp.Click(chromedp.CSS("#limit-yes")))
	x.until(`document.getElementById("types").innerText.includes(" 77,000")`)
	eval[bool](x, `state.notes = [], scrollTo(0, 0), true`)
}

// passivate ends an incarnation, and shows why.
func (x *tab) passivate() {
	x.t.Helper()
	x.find("cart-7")
	x.sure(`#found button[data-do="passivate"]`)
	x.until(`document.getElementById("found").innerText.includes("not active")`)
	x.until(`document.querySelectorAll("#found dd ol li").length === 1`)
	eval[bool](x, `document.activeElement.blur(), state.notes = [], render(), true`)
}

// tabs compares the tabs of the page with those that it had when the pictures were taken.
func (x *tab) tabs() {
	x.t.Helper()
	now := eval[string](x, `[...document.querySelectorAll("#tabs button")].map(b => b.innerText).join(", ")`) + "\n"
	file := filepath.Join("..", "docs", "tabs.txt")
	if *screenshots {
		if err := os.WriteFile(file, []byte(now), 0o644); err != nil {
			x.t.Fatal(err)
		}
	}
	if then, err := os.ReadFile(file); err != nil || string(then) != now {
		x.t.Errorf("the pictures show the tabs %q, and the page has %q (%v): take them anew with -screenshots", then,
			now, err)
	}
}

// outage has the console fail for a while. The page says so, keeps what it has, and comes back.
func (x *tab) outage(s *shop) {
	x.t.Helper()
	s.sick.Store(true)
	x.until(`document.getElementById("alerts").innerText.includes("has not answered since")`)
	x.until(`document.getElementById("state").innerText === "not connected"`)
	if n := eval[int](x, `document.querySelectorAll("#types .card").length`); n != 1 {
		x.t.Errorf("%d types are left", n)
	}
	s.sick.Store(false)
	x.until(`document.getElementById("state").innerText === "3 of 3 nodes ready"`)
	s.partly.Store(true) // one question fails, another lacks a node: the rest of the page is as ever
	x.until(`document.getElementById("shards-trouble").innerText.includes("no shards today")`)
	x.until(`document.getElementById("state").innerText === "3 of 3 nodes ready"`)
	if n := eval[int](x, `document.querySelectorAll("#map i").length`); n != shards {
		x.t.Errorf("%d shards are left", n)
	}
	x.key("5")
	x.until(`document.getElementById("events-trouble").innerText.includes("far:1 gave no answer: it hangs")`)
	x.key("3")
	s.partly.Store(false)
	x.until(`document.getElementById("shards-trouble").innerText === ""`)
}

// looks changes how the page looks, and the size of the window.
func (x *tab) looks() {
	x.t.Helper()
	x.key("?")
	x.until(`document.getElementById("keys").open`)
	x.key(kb.Escape)
	x.until(`!document.getElementById("keys").open`)
	eval[bool](x, `document.activeElement.blur(), true`) // what had the focus before the list may take letters
	x.key("d")
	x.until(`document.documentElement.dataset.theme === "dark"`)
	eval[bool](x, `state.notes = [], render(), scrollTo(0, 0), true`)
	if b := x.picture("dark"); b > 0.3 {
		x.t.Errorf("the dark page is light: %.2f", b)
	}
	x.key("d")
	x.run(chromedp.EmulateViewport(390, 844, chromedp.EmulateMobile))
	for _, key := range []string{"2", "3", "4", "5", "1"} {
		x.key(key)
		x.until(`!document.querySelector("[data-section=" + state.tab + "]").hidden`)
		if wide := eval[int](x, `document.documentElement.scrollWidth - innerWidth`); wide > 0 {
			x.t.Errorf("on a phone, section %s is %d pixels too wide", key, wide)
		}
	}
	if eval[bool](x, `[...document.querySelectorAll("#tabs button, #state, h1")].some(b => {
		const a = b.getBoundingClientRect(), t = document.getElementById("theme").getBoundingClientRect();
		return a.left < t.right && t.left < a.right && a.top < t.bottom && t.top < a.bottom;
	})`) {
		x.t.Error("on a phone, the button for light or dark lies on others")
	}
	x.picture("phone")
}

// A stranger sees neither the page nor what it shows.
func TestStranger(t *testing.T) {
	s, x := visitShop(t)
	x.run(bearer("wrong"))
	ctx, cancel := context.WithTimeout(x.ctx, 5*time.Second) // the browser would ask a person for a password
	defer cancel()
	_ = chromedp.Do(ctx, chromedp.Navigate(s.server.URL+"/coterie/"))
	if html := eval[string](x, `(document.documentElement || {}).outerHTML || ""`); strings.Contains(html, "shop") ||
		strings.Contains(html, "members") {
		t.Errorf("a stranger sees %s", html)
	}
}
