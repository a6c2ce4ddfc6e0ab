import PlugboardPosix
import TestSupport
import Testing

@testable import plugboard

@Suite("plugin.json", .someAtATime)
struct ManifestTests {
    private func read(_ text: String) -> Result<PluginManifest, JSONFault> {
        do throws(JSONFault) {
            return .success(try PluginManifest(parsing: Array(text.utf8)))
        } catch {
            return .failure(error)
        }
    }

    @Test("it has a name and a program, and may have more")
    func fields() throws {
        let manifest = try read(
            """
            {"name": "cart", "run": "cart", "arguments": ["-v"], "demo_arguments": ["--rate", "5"],
             "subscribes": ["catalog.**", "cart.add"], "publishes": ["cart.items"],
             "calls": ["bank.*"], "serves": ["cart.add"], "description": "keeps the cart", "restart": "always", "x-icon": 7}
            """
        ).get()
        #expect(manifest.name == "cart")
        #expect(manifest.run == "cart")
        #expect(manifest.arguments == ["-v"])
        #expect(manifest.demoArguments == ["--rate", "5"])
        #expect(manifest.subscribes == ["catalog.**", "cart.add"])
        #expect(manifest.publishes == ["cart.items"])
        #expect(manifest.calls == ["bank.*"])
        #expect(manifest.serves == ["cart.add"])
        #expect(manifest.description == "keeps the cart")
        #expect(manifest.restart == .always)
        let least = try read(#"{"name":"a","run":"b"}"#).get()
        #expect(least.arguments == [])
        #expect(least.restart == .onFailure)
        #expect(least.start == .up && least.idleSeconds == nil)
        let holder = try read(#"{"name":"a","run":"b","controls":["lamp.*"]}"#).get()
        #expect(
            String(decoding: holder.permission, as: UTF8.self)
                == #"{"subscribe":[],"publish":[],"emit":[],"call":[],"serve":[],"control":["lamp.*"]}"#
        )
        let late = try read(#"{"name":"a","run":"b","start":"demand","idle":86400}"#).get()
        #expect(late.start == .demand && late.idleSeconds == 86_400)
        #expect(
            String(decoding: least.permission, as: UTF8.self)
                == #"{"subscribe":[],"publish":[],"emit":[],"call":[],"serve":[]}"#
        )
    }

    @Test(
        "a mistake is reported with its place",
        arguments: [
            (#"{"name":"a","rum":"b"}"#, 12, "there is no field \"rum\"; did you mean \"run\"?"),
            (#"{"name":"a","run":"b","demo_argumnets":[]}"#, 22, "did you mean \"demo_arguments\"?"),
            (#"{"name":"a","run":"b","color":1}"#, 22, "it may have name, run, arguments"),
            (#"{"name":"a","run":"b","run":"c"}"#, 22, "\"run\" stands twice"),
            (#"{"run":"b"}"#, 0, "\"name\" is missing"), (#"{"name":"a"}"#, 0, "\"run\" is missing"),
            (#"{"name":5,"run":"b"}"#, 1, "\"name\" is a string, not a number"),
            (#"{"name":"","run":"b"}"#, 1, "\"name\" is empty"),
            (#"{"name":"\u001b[2J","run":"b"}"#, 1, "no control character"),
            (##"{"name":"#7","run":"b"}"##, 1, "no # or $"),
            (#"{"name":"up","run":"b"}"#, 1, "that is plugboard up itself"),
            (#"{"name":"a","run":"b\u0000c"}"#, 12, "NUL"),
            (#"{"name":"a","run":"b","arguments":"-v"}"#, 22, "\"arguments\" is an array of strings"),
            (#"{"name":"a","run":"b","arguments":["-v",1]}"#, 22, "\"arguments\" is an array of strings"),
            (#"{"name":"a","run":"b","restart":"allways"}"#, 22, "did you mean \"always\"?"),
            (#"{"name":"a","run":"b","start":"demnad"}"#, 22, "did you mean \"demand\"?"),
            (#"{"name":"a","run":"b","idle":0}"#, 22, "\"idle\" is a number of seconds, 1 to 86400"),
            (#"{"name":"a","run":"b","idle":86401}"#, 22, "\"idle\" is a number of seconds, 1 to 86400"),
            (#"{"name":"a","run":"b","restart":true}"#, 22, "\"restart\" is a string, not true or false"),
            (#"{"name":"a","run":"b","subscribes":["a..b"]}"#, 22, "is not a key or a pattern"),
            (#"{"name":"a","run":"b","publishes":["a b"]}"#, 22, "is not a key or a pattern"),
            (#"{"name":"a","run":"b","serves":["a."]}"#, 22, "is not a key or a pattern"),
            (#"{"name":"a","run":"b","calls":7}"#, 22, "\"calls\" is an array of strings"),
            (#"{"name":"a" "run":"b"}"#, 12, "not JSON: expected a comma or }"), ("", 0, "not JSON"),
            ("[]", 0, "not JSON: expected an object"), ("null", 0, "an object"),
        ]
    )
    func faults(text: String, offset: Int, message: String) {
        guard case .failure(let fault) = read(text) else {
            Issue.record("accepted: \(text)")
            return
        }
        #expect(fault.offset == offset, "\(text)")
        #expect(fault.message.contains(message), "\(fault.message)")
    }

    @Test("a name is at most 64 bytes")
    func longName() {
        let longest = String(repeating: "n", count: 64)
        #expect((try? read("{\"name\":\"\(longest)\",\"run\":\"b\"}").get()) != nil)
        #expect((try? read("{\"name\":\"\(longest)n\",\"run\":\"b\"}").get()) == nil)
    }

    @Test("a place is given as editors count: line and character")
    func places() {
        let text = Array("{\n  \"ü\": 1,\n  x".utf8)
        #expect(TextPlace(offset: 0, in: text).line == 1)
        #expect(TextPlace(offset: text.count - 1, in: text).line == 3)
        #expect(TextPlace(offset: text.count - 1, in: text).column == 3)
        #expect(TextPlace(offset: 8, in: text).column == 6)
    }

    @Test("every plugin.json of the project is accepted, and its program is built")
    func ownPlugins() throws {
        let tests = SocketPath.folder(of: #filePath)
        let root = SocketPath.folder(of: SocketPath.folder(of: tests))
        let folder = try PluginFolder(path: root + "/plugins", executable: Products.plugboard)
        #expect(folder.problems == [])
        #expect(
            Set(["cart", "price-indicator", "review-banner", "logger", "review-tracker"])
                .isSubset(of: Set(folder.plugins.map(\.name)))
        )
    }
}

@Suite("The folder of plugins", .someAtATime)
final class PluginFolderTests: FolderSuite {
    private func read(executable: String = "/nowhere/plugboard") throws -> PluginFolder {
        try PluginFolder(path: folder.path, executable: executable)
    }

    @Test("each folder with a plugin.json is a plugin, and everything else is ignored")
    func found() throws {
        try folder.script("b/run.sh", "true")
        try folder.write("b/plugin.json", #"{"name":"bee","run":"run.sh"}"#)
        try folder.script("a/bin/go", "true")
        try folder.write("a/plugin.json", #"{"name":"ant","run":"bin/go"}"#)
        try folder.write("notes/readme", "")
        try folder.write("file", "")
        let found = try read()
        #expect(found.plugins.map(\.name) == ["ant", "bee"])
        #expect(found.plugins.map(\.program) == ["\(folder.path)/a/bin/go", "\(folder.path)/b/run.sh"])
        #expect(found.plugins.map(\.folder) == ["\(folder.path)/a", "\(folder.path)/b"])
        #expect(found.problems == [])
    }

    @Test(
        "a program may be beside plugboard; one in the plugin's folder comes first; a path is never looked up beside it"
    )
    func beside() throws {
        let beside = try TemporaryFolder()
        try beside.script("tool", "true")
        try beside.script("sub/tool", "true")
        try folder.write("a/plugin.json", #"{"name":"a","run":"tool"}"#)
        try folder.write("b/plugin.json", #"{"name":"b","run":"tool"}"#)
        try folder.script("b/tool", "true")
        try folder.write("c/plugin.json", #"{"name":"c","run":"sub/tool"}"#)
        let found = try read(executable: beside.path + "/plugboard")
        #expect(found.plugins.map(\.program) == ["\(beside.path)/tool", "\(folder.path)/b/tool"])
        #expect(found.problems.map(\.place) == ["\(folder.path)/c/plugin.json"])
    }

    @Test("broken ones are reported with file, line and column, and the others still work")
    func broken() throws {
        try folder.script("good/go", "true")
        try folder.write("good/plugin.json", #"{"name":"good","run":"go"}"#)
        try folder.write("half/plugin.json", "{\n  \"name\": \"half\",\n  \"run\"")
        try folder.write("bytes/plugin.json", [0x7B, 0xFF, 0x7D])
        try folder.write("huge/plugin.json", String(repeating: " ", count: 70_000))
        try folder.write("gone/plugin.json", #"{"name":"gone","run":"nowhere"}"#)
        try folder.write("flat/go", "no program")
        try folder.write("flat/plugin.json", #"{"name":"flat","run":"go"}"#)
        try folder.script("twin/go", "true")
        try folder.write("twin/plugin.json", #"{"name":"good","run":"go"}"#)
        try Folder.make(folder.path + "/pipe")
        SystemCalls.makePipe(folder.path + "/pipe/plugin.json")
        try Folder.make(folder.path + "/odd")
        try Folder.make(folder.path + "/odd/plugin.json")
        let found = try read()
        #expect(found.plugins.map(\.name) == ["good"])
        let told = Dictionary(
            uniqueKeysWithValues: found.problems.map {
                ($0.place.dropFirst(folder.path.count + 1), $0.message)
            }
        )
        #expect(told["half/plugin.json:3:8"]?.contains("expected a colon") == true)
        #expect(told["bytes/plugin.json:1:2"] != nil)
        #expect(told["huge/plugin.json"]?.contains("File too large") == true)
        #expect(told["gone/plugin.json"]?.contains("there is no program \"nowhere\"") == true)
        #expect(told["flat/plugin.json"]?.contains("is not executable; try: chmod +x") == true)
        #expect(told["twin/plugin.json"]?.contains("the name \"good\" is taken") == true)
        #expect(told["odd/plugin.json"]?.contains("directory") == true)
        #expect(told["pipe/plugin.json"] == "it is no file")
        #expect(told.count == 8)
    }

    @Test("plugins are chosen by name, and a similar name is suggested")
    func selection() throws {
        for name in ["cart", "logger"] {
            try folder.script("\(name)/go", "true")
            try folder.write("\(name)/plugin.json", "{\"name\":\"\(name)\",\"run\":\"go\"}")
        }
        let found = try read()
        try found.check([])
        try found.check(["logger"])
        #expect(
            throws: CommandError.usage(
                "there is no plugin \"loger\" in \(folder.path)", hint: "did you mean \"logger\"?"
            )
        ) {
            try found.check(["loger"])
        }
        try folder.write("logs/plugin.json", #"{"name":"logs"}"#)
        let problem = try #require(try read().problems.first)
        #expect(throws: CommandError.usage("\(problem)")) { try read().check(["logs"]) }
    }
}

@Suite("A demo's script", .someAtATime)
struct DemoScriptTests {
    @Test("comments are narration, pause and await are steps, everything else goes to the broker")
    func steps() throws {
        let script = try DemoScript(
            parsing:
                "# Hello  there\n\n#\npause 0.5\nawait cart.items \nawait a 0.5\npublish a \"x  y\"\n{\"op\":\"sync\"}\r\n"
        )
        #expect(
            script.steps == [
                .narrate("Hello  there"), .narrate(""), .pause(0.5), .await(key: "cart.items", seconds: 10),
                .await(key: "a", seconds: 0.5),
                .send("publish a \"x  y\""), .send("{\"op\":\"sync\"}"),
            ]
        )
    }

    @Test("a wrong step is reported with its line")
    func faults() {
        #expect(throws: CommandError.usage("2: pause takes a number of seconds")) {
            try DemoScript(parsing: "# a\npause soon")
        }
        #expect(throws: CommandError.usage("1: await takes a key, and perhaps a number of seconds")) {
            try DemoScript(parsing: "await")
        }
    }
}
