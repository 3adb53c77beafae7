/* Py4J's client for calls from this JVM to Python, in place of Py4J's own, which gives each calling thread a
 * connection for life and never closes it; each has a thread and a file descriptor in both processes. Spark calls from
 * threads of its own, of which each query may have new ones: exchanges, subqueries, streams. Such a thread borrows a
 * connection for the time of one call; all that Python asks of the JVM within the call comes over that connection, and
 * runs on the calling thread. A thread that serves a connection of Python's goes on to use that one. */
package io.sqlext

import java.util.concurrent.ConcurrentLinkedDeque
import java.util.concurrent.atomic.AtomicInteger
import javax.net.SocketFactory

import py4j._

private class CallbackConnections(known: CallbackClient, gateway: Gateway, server: GatewayServer, token: String)
    extends PythonClient(gateway, null, known.getPort, known.getAddress, CallbackClient.DEFAULT_MIN_CONNECTION_TIME,
      CallbackClient.DEFAULT_MIN_CONNECTION_TIME_UNIT, SocketFactory.getDefault, server, true, GatewayServer.DEFAULT_READ_TIMEOUT,
      token) {
  /** Connections that wait for a next call; those above it are closed after theirs. */
  private val mostIdle = 8
  private val idle = new ConcurrentLinkedDeque[ClientServerConnection]
  private val idleCount = new AtomicInteger

  override def sendCommand(command: String, blocking: Boolean): String =
    if (isOpen(getPerThreadConnection)) super.sendCommand(command, blocking)
    else {
      val connection = borrow()
      setPerThreadConnection(connection)
      try super.sendCommand(command, blocking)
      finally {
        threadConnection.remove()
        giveBack(connection)
      }
    }

  private def borrow(): ClientServerConnection = {
    val waiting = idle.pollFirst()
    if (waiting == null) open()
    else {
      idleCount.decrementAndGet()
      if (isOpen(waiting)) waiting else borrow()
    }
  }

  private def open(): ClientServerConnection = {
    val connection = new ClientServerConnection(gateway, startClientSocket(), null, this, server, readTimeout, authToken)
    connection.setInitiatedFromClient(true)
    connection.start()
    connection
  }

  private def giveBack(connection: ClientServerConnection): Unit =
    if (isOpen(connection)) {
      if (idleCount.incrementAndGet() <= mostIdle) idle.addFirst(connection)
      else {
        idleCount.decrementAndGet()
        connection.shutdown()
      }
    }

  private def isOpen(connection: ClientServerConnection): Boolean = connection != null && connection.getSocket != null

  /** Py4J keeps what it gets back for its own shutdown; borrowed ones are kept here. */
  override protected def giveBackConnection(connection: Py4JClientConnection): Unit = connection match {
    case own: ClientServerConnection if own.isInitiatedFromClient =>
    case other => super.giveBackConnection(other)
  }

  override def shutdown(): Unit = {
    super.shutdown()
    Iterator.continually(idle.pollFirst()).takeWhile(_ != null).foreach(_.shutdown())
  }
}
