/* The token by which this JVM shows Python's callback server who calls. Py4J has one for the way from Python to here;
 * for the way back, when it is told the server's port, it makes a client that has forgotten it, and has no means to
 * give it one. */
package io.sqlext

import py4j.{CallbackClient, Gateway, GatewayServer}

object CallbackToken {
  def show(server: GatewayServer, token: String): Unit = {
    val gateway = server.getGateway
    val knowing = new CallbackConnections(server.getCallbackClient.asInstanceOf[CallbackClient], gateway, server, token)
    val client = classOf[Gateway].getDeclaredField("cbClient")
    client.setAccessible(true)
    client.set(gateway, knowing)
  }
}
