/* Python's half of the bridge where no Python driver attaches one: spark-sql, the Thrift server, a Spark Connect server,
 * drivers in Scala or Java. The first use of a catalog starts `python -m sqlext.serve` as a child process, which connects
 * to a Py4J gateway of this JVM, as the driver of a PySpark application does. The child ends when its standard input
 * does, so it never outlives this JVM. */
package org.apache.spark.sql.sqlext

import java.io.{BufferedReader, File, IOException, InputStream, InputStreamReader}
import java.nio.charset.StandardCharsets.UTF_8
import java.util.concurrent.{CompletableFuture, ExecutionException, TimeUnit, TimeoutException}

import io.sqlext.{Bridge, SqlextException}
import org.apache.spark.SparkContext
import org.apache.spark.api.python.{Py4JServer, PythonUtils}
import org.apache.spark.scheduler.{SparkListener, SparkListenerApplicationEnd}
import org.apache.spark.sql.{SparkSession, classic}

import scala.jdk.CollectionConverters._

class PythonProcess private (context: SparkContext, process: Process, gateway: Py4JServer) {
  /** Whether it serves the running application: one that comes after it in this JVM needs another. */
  def serves: Boolean = process.isAlive && !context.isStopped

  /** How it ended, if it has or is about to. */
  def end: Option[String] =
    if (process.waitFor(PythonProcess.endSeconds, TimeUnit.SECONDS)) Some(s"exit code ${process.exitValue}") else None

  def close(): Unit = {
    try process.getOutputStream.close()
    catch { case _: IOException => } // it has ended already
    gateway.shutdown()
  }
}

object PythonProcess {
  private val setting = "spark.sqlext.python"
  private val readySeconds = 300L
  private val endSeconds = 2L
  @volatile private var served: classic.SparkSession = _

  /** The session by which a child process that starts reaches the application. */
  def session: classic.SparkSession = served

  /** A child process that has attached its half of the bridge. Throws PYTHON_NOT_STARTED. */
  def start(): PythonProcess = {
    served = classic.SparkSession.getDefaultSession.getOrElse(SparkSession.active).asInstanceOf[classic.SparkSession]
    val context = served.sparkContext
    val gateway = listening(context)
    try {
      val python = pythonOf(context)
      val process = launched(python, context, gateway)
      val child = new PythonProcess(context, process, gateway)
      try awaitReady(python, process)
      catch { case failure: Throwable => process.destroyForcibly(); throw failure }
      context.addSparkListener(new SparkListener {
        override def onApplicationEnd(end: SparkListenerApplicationEnd): Unit = child.close()
      })
      child
    } catch { case failure: Throwable => gateway.shutdown(); throw failure }
  }

  /** A gateway that listens. With pinned threads, PySpark's default, it does so from its constructor on. */
  private def listening(context: SparkContext): Py4JServer = {
    val made = new CompletableFuture[Py4JServer]
    inDaemon("sqlext-gateway") {
      try {
        val gateway = new Py4JServer(context.conf)
        gateway.start()
        made.complete(gateway)
      } catch { case failure: Throwable => made.completeExceptionally(failure) }
    }
    try made.get()
    catch { case failed: ExecutionException => throw failed.getCause }
  }

  private def launched(python: String, context: SparkContext, gateway: Py4JServer): Process = {
    System.err.println(s"sqlext: starting its Python side ($python -m sqlext.serve)")
    val builder = new ProcessBuilder(python, "-m", "sqlext.serve")
    val environment = builder.environment
    // PySpark of this Spark, whatever version the Python has installed.
    val path = Seq(PythonUtils.sparkPythonPath, environment.getOrDefault("PYTHONPATH", "")).filter(_.nonEmpty)
    environment.put("PYTHONPATH", path.mkString(File.pathSeparator))
    environment.put("PYSPARK_GATEWAY_PORT", gateway.getListeningPort.toString)
    environment.put("PYSPARK_GATEWAY_SECRET", gateway.secret)
    context.conf.getOption("spark.pyspark.python").foreach(environment.put("PYSPARK_PYTHON", _))
    try builder.start()
    catch { case missing: IOException => throw notStarted(python, missing.getMessage) }
  }

  private def pythonOf(context: SparkContext): String =
    context.conf.getOption(setting).orElse(context.conf.getOption("spark.pyspark.python"))
      .orElse(sys.env.get("PYSPARK_PYTHON")).getOrElse("python3")

  /** Waits for the child's line on standard output; what it writes to standard error is shown, and the last line of it is
    * the reason if the child ends instead. */
  private def awaitReady(python: String, process: Process): Unit = {
    val (answer, reason) = (new CompletableFuture[Option[String]], new CompletableFuture[String])
    inDaemon("sqlext-python-output") {
      val output = lines(process.getInputStream)
      answer.complete(output.nextOption())
      output.foreach(System.err.println)
    }
    inDaemon("sqlext-python-errors") {
      var last = ""
      lines(process.getErrorStream).foreach { line =>
        System.err.println(line)
        if (line.trim.nonEmpty) last = line.trim
      }
      reason.complete(last)
    }
    val said =
      try answer.get(readySeconds, TimeUnit.SECONDS)
      catch { case _: TimeoutException => throw notStarted(python, s"it was not ready after $readySeconds s") }
    said match {
      case None => throw notStarted(python, reason.get(readySeconds, TimeUnit.SECONDS))
      case Some(line) => Bridge.decode(line)
    }
  }

  private def lines(stream: InputStream): Iterator[String] =
    new BufferedReader(new InputStreamReader(stream, UTF_8)).lines().iterator.asScala

  /** Threads that it starts are daemons too, and find the shim's classes, whatever the loader of this one is. */
  private def inDaemon(name: String)(run: => Unit): Thread = {
    val thread = new Thread(() => run, name)
    thread.setDaemon(true)
    thread.setContextClassLoader(getClass.getClassLoader)
    thread.start()
    thread
  }

  private def notStarted(python: String, reason: String): SqlextException = SqlextException.ofShim("PYTHON_NOT_STARTED", "58000",
    s"The Python side of sqlext did not start with <python>: <reason>. Set $setting to a Python that has " +
      "sqlext's wheel.", Map("python" -> python, "reason" -> reason))
}
