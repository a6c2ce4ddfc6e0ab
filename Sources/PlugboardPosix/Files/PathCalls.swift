// The system's calls that take a path or fill in what they know of a file. Each returns as the
// call of the C library does, with `errno`.
//
// Paths keep bytes that aren't UTF-8 (`SystemText`).
//
// Why its pointers are safe: Swift lends them for the length of one call, with room for what the
// call writes, and no call keeps one.

import PlugboardMemory

/// Calls with paths, each under a name that the C library doesn't have.
enum PathCalls {
    static func openFile(_ path: String, _ flags: Int32, _ mode: mode_t = 0) -> Int32 {
        retrying { unsafe open(SystemText.cString(path), flags, mode) }
    }

    /// What is there, symbolic links followed; nil if that isn't known.
    static func status(_ path: String) -> stat? {
        var status = stat()
        return unsafe stat(SystemText.cString(path), &status) == 0 ? status : nil
    }

    /// What is there, be it a symbolic link; nil if that isn't known.
    static func linkStatus(_ path: String) -> stat? {
        var status = stat()
        return unsafe lstat(SystemText.cString(path), &status) == 0 ? status : nil
    }

    static func status(_ fd: Int32) -> stat? {
        var status = stat()
        return unsafe fstat(fd, &status) == 0 ? status : nil
    }

    /// Of the file system in which an open file is.
    static func volumeStatus(_ fd: Int32) -> statvfs? {
        var status = statvfs()
        return retrying { unsafe fstatvfs(fd, &status) } == 0 ? status : nil
    }

    static func mayRun(_ path: String) -> Bool { mayAccess(path, X_OK) }

    static func mayAccess(_ path: String, _ mode: Int32) -> Bool {
        unsafe access(SystemText.cString(path), mode) == 0
    }

    static func setMode(_ path: String, _ mode: mode_t) -> Int32 {
        unsafe chmod(SystemText.cString(path), mode)
    }

    static func renameFile(_ from: String, _ to: String) -> Int32 {
        unsafe rename(SystemText.cString(from), SystemText.cString(to))
    }

    @discardableResult
    static func removeFile(_ path: String) -> Int32 { unsafe unlink(SystemText.cString(path)) }

    static func makeLink(_ path: String, to target: String) -> Int32 {
        unsafe symlink(SystemText.cString(target), SystemText.cString(path))
    }

    /// At most 4,096 bytes of it; nil if there is no symbolic link.
    static func linkTarget(_ path: String) -> String? {
        var target = [CChar](repeating: 0, count: 4_096)
        let count = unsafe readlink(SystemText.cString(path), &target, target.count)
        guard count > 0 else { return nil }
        return SystemText.text(target[..<count].map { UInt8(bitPattern: $0) })
    }

    /// The absolute path with symbolic links resolved; nil if nothing is there.
    static func resolved(_ path: String) -> String? {
        guard let pointer = unsafe realpath(SystemText.cString(path), nil) else { return nil }
        defer { unsafe free(pointer) }
        return unsafe SystemText.text(UnsafePointer(pointer))
    }

    static func makeFolder(_ path: String, _ mode: mode_t) -> Int32 {
        unsafe mkdir(SystemText.cString(path), mode)
    }

    @discardableResult
    static func removeFolder(_ path: String) -> Int32 { unsafe rmdir(SystemText.cString(path)) }

    /// The names in a folder but `.` and `..`; nil if it can't be read.
    static func names(in path: String) -> [String]? {
        guard let folder = unsafe opendir(SystemText.cString(path)) else { return nil }
        defer { unsafe closedir(folder) }
        var names: [String] = []
        while let entry = unsafe readdir(folder) {
            let name = unsafe withUnsafePointer(to: &entry.pointee.d_name) {
                unsafe $0.withMemoryRebound(to: CChar.self, capacity: 256) { unsafe SystemText.text($0) }
            }
            if name != ".", name != ".." { names.append(name) }
        }
        return names
    }

    /// A new folder, named `path` and six more characters; nil if it can't be made.
    static func makeTemporaryFolder(_ path: String) -> String? {
        var template = template(path)
        guard unsafe mkdtemp(&template) != nil else { return nil }
        return SystemText.text(template.dropLast().map { UInt8(bitPattern: $0) })
    }

    /// A new file named likewise, whose name is gone again.
    static func openUnnamedFile(_ path: String) -> Int32 {
        var template = template(path)
        let fd = unsafe mkstemp(&template)
        guard fd >= 0 else { return fd }
        _ = fcntl(fd, F_SETFD, FD_CLOEXEC)
        unsafe unlink(template)
        return fd
    }

    /// What mkdtemp(3) and mkstemp(3) take: they replace its last six characters.
    private static func template(_ path: String) -> [CChar] {
        SystemText.cString(path + "." + String(repeating: "X", count: 6))
    }
}
