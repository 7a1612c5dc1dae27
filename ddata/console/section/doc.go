// Package section is the port through which an extension of a node shows what it has to the console
// of that node. The console knows no extension, and an extension no console: sharding gives its
// Entities when its first type starts, whether a console was mounted or not.
package section
