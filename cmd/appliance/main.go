// Command appliance is Larder, a storage appliance for a home server: it serves
// the S3 API and a console over one data folder, and has the commands that
// manage a running server. Its binary is called larder.
package main

import "os"

func main() {
	os.Exit(run(os.Args[1:], os.Environ(), os.Stdin, os.Stdout, os.Stderr))
}
