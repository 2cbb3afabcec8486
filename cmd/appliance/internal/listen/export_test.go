package listen

import "net"

func NewConn(c net.Conn, release func()) *Conn { return newConn(c, release) }
