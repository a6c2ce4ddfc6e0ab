// Made by .ci/page from plugins/dashboard/page/icon.svg: change that file, and run .ci/page again.
// swift-format-ignore-file

extension PageText {
    static let iconSVG: StaticString = ##"""
<svg/>
"""##
}
