// Package instances counts the methods that a compiler compiles anew for each package that uses a type.
//
// For a package that names a type, the compiler reads all types that its fields and the signatures of its methods lead
// to, in whatever package they are, and compiles all methods of the generic ones among them for that package, once for
// each list of arguments. A type that leads to a tree or to a loop costs each of its users a second that way. What is
// behind an interface or an any is not read.
package instances
