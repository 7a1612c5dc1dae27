package main

import (
	"bytes"
	"image/color"
	"slices"

	"gonum.org/v1/plot"
	"gonum.org/v1/plot/plotter"
	"gonum.org/v1/plot/text"
	"gonum.org/v1/plot/vg"
	"gonum.org/v1/plot/vg/draw"

	"github.com/coterie-go/coterie/bench/results"
)

// Sizes of a plot.
const (
	width   = 18 * vg.Centimeter
	around  = 3 * vg.Centimeter // above and below the cases
	height  = 0.7 * vg.Centimeter
	letters = vg.Length(9)
)

var (
	ownColor      = color.RGBA{R: 0x0b, G: 0x5f, B: 0xa5, A: 0xff}
	baselineColor = color.RGBA{R: 0xc0, G: 0x5a, B: 0x00, A: 0xff}
)

// dots are the medians of figures, one above the other, with lines from the lowest value to the highest one.
type dots []dot

type dot struct{ y, low, median, high float64 }

func (d dots) Len() int                { return len(d) }
func (d dots) XY(i int) (x, y float64) { return d[i].median, d[i].y }
func (d dots) XError(i int) (float64, float64) {
	return d[i].median - d[i].low, d[i].high - d[i].median
}

// add adds a figure, if a logarithmic axis can show it.
func (d *dots) add(f *results.Figure, y float64) {
	if f == nil || len(f.Values) == 0 || slices.Min(f.Values) <= 0 {
		return
	}
	*d = append(*d, dot{y, slices.Min(f.Values), f.Median(), slices.Max(f.Values)})
}

// plot draws the bench. It returns nil if nothing of it can be shown.
func (b bench) plot() (svg []byte, err error) {
	p := plot.New()
	var own, baseline dots
	var names, units []string
	for i, c := range slices.Backward(b.cases) { // the axis goes up
		names = append(names, c.Case)
		f, base := shown(c)
		y := float64(len(b.cases) - 1 - i)
		own.add(f, y)
		baseline.add(base, y)
		if f != nil && !slices.Contains(units, f.Name) {
			units = append(units, f.Name)
		}
	}
	if len(own) == 0 {
		return nil, nil
	}
	p.X.Scale, p.X.Tick.Marker = plot.LogScale{}, plot.LogTicks{Prec: -1}
	slices.Reverse(units)
	for i, u := range units {
		if i > 0 {
			p.X.Label.Text += ", "
		}
		p.X.Label.Text += u
	}
	p.Legend.Top, p.Legend.Padding = true, vg.Points(2)
	for _, style := range []*text.Style{&p.X.Label.TextStyle, &p.X.Tick.Label, &p.Y.Tick.Label,
		&p.Legend.TextStyle} { // letters of one width need as much room with whatever font the reader has
		style.Font.Variant, style.Font.Size = "Mono", letters
	}
	for _, s := range []struct {
		name string
		of   dots
		ink  color.Color
	}{{"Coterie", own, ownColor}, {"baseline", baseline, baselineColor}} {
		if err := s.of.draw(p, s.name, s.ink); err != nil {
			return nil, err
		}
	}
	p.NominalY(names...)
	p.Y.Min, p.Y.Max = -0.6, float64(len(names))+1.2 // above them is the legend
	if p.X.Min == p.X.Max {                          // an axis has to go from somewhere to somewhere
		p.X.Min, p.X.Max = p.X.Min/2, p.X.Max*2
	}
	w, err := p.WriterTo(width, around+height*vg.Length(len(names)), "svg")
	if err != nil {
		return nil, err
	}
	var out bytes.Buffer
	_, err = w.WriteTo(&out)
	return bytes.ReplaceAll(out.Bytes(), []byte(family), []byte(family+",monospace")), err
}

// family is what the plot says of its font; few readers have that one.
const family = "font-family:Liberation Mono"

func (d dots) draw(p *plot.Plot, name string, ink color.Color) error {
	if len(d) == 0 {
		return nil
	}
	points, err := plotter.NewScatter(d)
	if err != nil {
		return err
	}
	spread, err := plotter.NewXErrorBars(d)
	if err != nil {
		return err
	}
	points.Shape, points.Radius, points.Color = draw.CircleGlyph{}, vg.Points(3), ink
	spread.Color = ink
	p.Add(spread, points)
	p.Legend.Add(name, points)
	return nil
}
