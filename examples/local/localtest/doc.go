// Package localtest runs the programs of examples in their tests, and looks at what they print or serve.
package localtest
