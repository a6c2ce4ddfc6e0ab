import PlugboardPosix
import TestSupport
import Testing

@testable import BridgePlugin

@Suite("The bridge's options", .someAtATime)
struct OptionTests {
    @Test("the command line wins over the environment, and that over the file")
    func order() throws {
        let folder = try TemporaryFolder()
        let file = try folder.write(
            "options", "# for all\nhost = file\nshare = a.**\nsend = b, c\n\nprefix=/x\n"
        )
        let environment = ["PLUGBOARD_BRIDGE_FILE": file, "PLUGBOARD_BRIDGE_HOST": "environment"]
        #expect(try OptionSource(["host": "argument"], environment).text("host") == "argument")
        let source = try OptionSource([:], environment)
        #expect(source.text("host") == "environment")
        #expect(source.text("prefix") == "/x")
        #expect(source.patterns("send") == ["b", "c"])
        #expect(source.patterns("own").isEmpty)
    }

    @Test("in the file, lines of one name add up if it may have several; otherwise they are a mistake")
    func twice() throws {
        let folder = try TemporaryFolder()
        let file = try folder.write("options", "share = a,b\nsend = x\nshare = c\n")
        let source = try OptionSource(["file": file], [:])
        #expect(source.patterns("share") == ["a", "b", "c"])
        #expect(source.patterns("send") == ["x"])
        let mistaken = try folder.write("mistaken", "host = a\nhost = b\n")
        let mistake = #expect(throws: BridgeMistake.self) { try OptionSource(["file": mistaken], [:]) }
        #expect(mistake?.description == "\(mistaken): \"host\" stands twice")
    }

    @Test("the password comes from a file or the environment")
    func password() throws {
        let folder = try TemporaryFolder()
        let file = try folder.write("password", "secret\nmore\n")
        let given = ["user": "me", "password-file": file]
        #expect(try OptionSource(given, [:]).user()?.password == "secret")
        let environment = ["PLUGBOARD_BRIDGE_PASSWORD": "other"]
        #expect(try OptionSource(["user": "me"], environment).user()?.password == "other")
        #expect(try OptionSource([:], environment).user() == nil)
        #expect(throws: BridgeMistake.self) { try OptionSource(["user": "me"], [:]).user() }
    }

    @Test("a line may end as on Windows")
    func carriageReturns() throws {
        let folder = try TemporaryFolder()
        let file = try folder.write("options", "host = file\r\n\r\nshare = a.**\r\n")
        let source = try OptionSource(["file": file], [:])
        #expect(source.text("host") == "file" && source.patterns("share") == ["a.**"])
        let password = try folder.write("password", "secret\r\nmore\r\n")
        let given = ["user": "me", "password-file": password]
        #expect(try OptionSource(given, [:]).user()?.password == "secret")
    }

    @Test("a mistake is named before anything else happens, with status 64")
    func mistakes() async throws {
        let cases = [
            (["--share", "a"], "--etcd is missing"),
            (["--etcd", "nonsense", "--share", "a"], "\"nonsense\" is no address"),
            (["--etcd", "http://127.0.0.1:1"], "nothing is shared"),
            (["--etcd", "http://127.0.0.1:1", "--share", "a.**,a.b"], "\"a.**\" and \"a.b\" overlap"),
            (
                ["--etcd", "http://127.0.0.1:1", "--share", "a.**", "--share", "a.b"],
                "\"a.**\" and \"a.b\" overlap"
            ),
            (
                ["--etcd", "http://127.0.0.1:1", "--share", "a", "--send", "$x.**"],
                "\"$x.**\" never crosses: no key of a bus: a token begins with $"
            ),
            (
                ["--etcd", "http://127.0.0.1:1", "--share", "bridge.**"],
                "\"bridge.**\" never crosses: keys under bridge. stay on their bus"
            ),
            (
                ["--etcd", "http://127.0.0.1:1", "--share", "a", "--user", "me"],
                "the password of me is missing"
            ),
            (
                ["--etcd", "http://127.0.0.1:1", "--share", "a", "--name", "my bridge"],
                "--name: \"my bridge\" can't stand in a key such as bridge.NAME.status"
            ),
            (
                ["--etcd", "http://127.0.0.1:1", "--share", "a", "--proxy", "nowhere"],
                "--proxy is an address such as http://127.0.0.1:3128"
            ),
            (
                ["--etcd", "https://127.0.0.1:1", "--share", "a", "--key", "/dev/null"],
                "--key is the key of a certificate: give --cert, too"
            ),
            (
                ["--etcd", "https://127.0.0.1:1", "--share", "a", "--cacert", "/nowhere/ca.pem"],
                "--cacert: /nowhere/ca.pem can't be read"
            ),
            (
                ["--etcd", "http://127.0.0.1:1", "--share", "a", "--cert", "/dev/null"],
                "--cert is for nodes whose addresses begin with https://"
            ),
            (
                [
                    "--etcd", "http://127.0.0.1:1", "--share", "a", "--host",
                    String(repeating: "h", count: 256),
                ],
                "a host's name has at most 255 bytes"
            ),
        ]
        for (arguments, words) in cases {
            let program = try TestProgram("bridge", arguments)
            try await eventually("it ends") { !program.isRunning }
            #expect(program.output.contains(words), "\(arguments)")
            #expect(program.status == 64)
        }
    }

    @Test("no line of its help is longer than 80 columns")
    func help() async throws {
        let program = try TestProgram("bridge", ["--help"])
        try await eventually("it ends") { !program.isRunning }
        let lines = program.output.split(separator: "\n")
        #expect(lines.count > 15)
        for line in lines { #expect(line.count <= 80, "\(line)") }
    }
}
