#include "mjcf_dropped.hpp"

#include <algorithm>
#include <map>
#include <sstream>

#include "dropped.hpp"

namespace taut::mjcf {

using io::Dropped;
using io::label;
using xml::Element;

namespace {

using Names = std::set<std::string>;

// Of an element: attributes that are read or change nothing, and those that mean something to MuJoCo alone.
struct Known {
  Names silent, dropped = {};
};

Names with_orientation(Names names) {
  names.insert({"pos", "quat", "axisangle", "euler", "xyaxes", "zaxis"});
  return names;
}

const Known kActuator{
    {"name",       "class",      "group",    "user",        "ctrllimited", "forcelimited", "ctrlrange",
     "forcerange", "gear",       "joint",    "kp",          "kv",          "dampratio",    "timeconst",
     "dyntype",    "gaintype",   "biastype", "dynprm",      "gainprm",     "biasprm",      "inheritrange",
     "actdim",     "actlimited", "actrange", "actearly",    "tendon",      "site",         "refsite",
     "cranksite",  "slidersite", "body",     "cranklength", "lengthrange", "jointinparent"},
    {"armature", "damping", "delay", "nsample", "interp", "input", "ffrange", "velrange"}};

const std::map<std::string, Known>& known() {
  static const std::map<std::string, Known> elements{
      {"mujoco", {{"model"}}},
      {"compiler",
       {{"angle", "assetdir", "autolimits", "balanceinertia", "boundinertia", "boundmass", "coordinate", "eulerseq",
         "inertiafromgeom", "inertiagrouprange", "meshdir", "settotalmass", "strippath", "fitaabb", "alignfree",
         // of what taut has no use for
         "texturedir", "conflict", "discardvisual", "fusestatic", "passthrough", "savecanonical", "savecompiled",
         "saveinertial", "usethread", "convexhull"}}},
      {"option",
       {{"gravity", "wind", "density", "viscosity",
         // of MuJoCo's methods, not of the world; o_* are for <flag override>
         "solver", "iterations", "tolerance", "jacobian", "ls_iterations", "ls_tolerance", "noslip_iterations",
         "noslip_tolerance", "ccd_iterations", "ccd_tolerance", "mpr_iterations", "mpr_tolerance", "sdf_iterations",
         "sdf_initpoints", "sleep_tolerance", "apirate", "magnetic", "o_margin", "o_solref", "o_solimp", "o_friction"},
        {"actuatorgroupdisable", "collision"}}},
      {"flag", {{"gravity", "contact",     "constraint",   "limit",       "frictionloss", "spring",    "damper",
                 "passive", "equality",    "filterparent", "actuation",   "autoreset",    "energy",    "eulerdamp",
                 "fwdinv",  "invdiscrete", "island",       "midphase",    "multiccd",     "nativeccd", "refsafe",
                 "sensor",  "warmstart",   "sleep",        "speculative", "ipc",          "diagexact"}}},
      {"body", {with_orientation({"name", "childclass", "mocap", "gravcomp", "user", "sleep", "fuse", "simple"})}},
      {"worldbody", {with_orientation({"name", "childclass", "user", "sleep", "fuse", "simple"})}},
      {"frame", {with_orientation({"name", "childclass"})}},
      {"inertial", {with_orientation({"mass", "diaginertia", "fullinertia"})}},
      {"joint",
       {{"name",
         "class",
         "type",
         "group",
         "user",
         "pos",
         "axis",
         "springdamper",
         "limited",
         "range",
         "ref",
         "springref",
         "stiffness",
         "damping",
         "armature",
         "frictionloss",
         "margin",
         "solreflimit",
         "solimplimit",
         "solreffriction",
         "solimpfriction",
         "actuatorfrclimited"},
        {"actuatorgravcomp", "springyield"}}},
      {"freejoint", {{"name", "group", "align"}}},
      {"geom",
       {with_orientation({"name",     "class",      "type",     "contype",  "conaffinity", "condim",   "group",
                          "priority", "size",       "material", "friction", "mass",        "density",  "shellinertia",
                          "solmix",   "solref",     "solimp",   "margin",   "gap",         "fromto",   "hfield",
                          "mesh",     "fluidshape", "rgba",     "user",     "castshadow",  "fitscale", "fluidcoef"}),
        {"adhesion", "surfacevel"}}},
      {"site",
       {with_orientation({"name", "class", "type", "group", "material", "size", "fromto", "rgba", "user", "mesh"})}},
      {"mesh",
       {{"name", "class", "content_type", "file", "vertex", "normal", "texcoord", "face", "scale", "refpos", "refquat",
         "inertia", "smoothnormal", "material"},
        {"maxhullvert", "builtin", "params"}}},
      {"hfield", {{"name", "content_type", "file", "nrow", "ncol", "size", "elevation"}}},
      {"pair",
       {{"name", "class", "geom1", "geom2", "condim", "friction", "solref", "solreffriction", "solimp", "margin",
         "gap"},
        {"adhesion"}}},
      {"exclude", {{"name", "body1", "body2"}}},
      {"key", {{"name", "qpos", "time"}, {"qvel", "act", "ctrl", "mpos", "mquat", "plastic"}}},
      {"general", kActuator},
      {"motor", kActuator},
      {"position", kActuator},
  };
  return elements;
}

const Known kEquality{{"name", "class", "active", "solref", "solimp", "body1", "body2", "site1", "site2", "anchor",
                       "relpose", "torquescale", "joint1", "joint2", "polycoef"}};

// A default that is written out asks for nothing.
bool asks_for_nothing(const std::string& value) {
  static const Names words{"", "false", "none", "auto", "all"};
  if (words.contains(value)) return true;
  std::istringstream numbers(value);
  double number = 0.0;
  while (numbers >> number) {
    if (number != 0.0) return false;
  }
  return numbers.eof();
}

void elements(const Element& section, const std::string& kind, Dropped& dropped) {
  for (const Element& element : section.children) {
    dropped.add("mjcf: " + kind + " elements are not supported",
                element.attributes.contains("name") ? label(element) : "<" + element.tag + ">");
  }
}

void attributes(const Element& element, const Known& rule, Dropped& dropped) {
  Names all = rule.silent;
  all.insert(rule.dropped.begin(), rule.dropped.end());
  for (const auto& [name, value] : element.attributes) {
    if (rule.dropped.contains(name) && !asks_for_nothing(value)) {
      dropped.add("mjcf: " + element.tag + " " + name + " is not supported", label(element));
    }
  }
  io::add_unknown_attributes("mjcf", element, label(element), all, dropped);
}

void unknown(const Element& element, const Element& parent, Dropped& dropped) {
  dropped.add("mjcf: unknown elements in <" + parent.tag + "> are not read",
              "<" + element.tag + "> in line " + std::to_string(element.line));
}

void joint(const Element& element, Dropped& dropped) {
  Known rule = known().at("joint");
  rule.silent.insert("actuatorfrcrange");
  attributes(element, rule, dropped);
  const auto value = [&](const char* name) {
    const auto found = element.attributes.find(name);
    return found == element.attributes.end() ? "" : found->second;
  };
  if (!asks_for_nothing(value("actuatorfrcrange")) && value("actuatorfrclimited") != "false") {
    dropped.add("mjcf: actuatorfrcrange is kept as the model's effort limit, which no step applies", label(element));
  }
}

void body(const Element& element, Dropped& dropped) {
  static const Names unsupported{"composite", "flexcomp", "replicate", "attach", "plugin"};
  for (const Element& child : element.children) {
    const std::string& tag = child.tag;
    if (tag == "camera" || tag == "light") continue;
    if (tag == "joint") {
      joint(child, dropped);
    } else if (tag == "body" || tag == "frame") {
      attributes(child, known().at(tag), dropped);
      body(child, dropped);
    } else if (tag == "geom" || tag == "site" || tag == "inertial" || tag == "freejoint") {
      attributes(child, known().at(tag), dropped);
      for (const Element& inner : child.children) {
        if (inner.tag == "plugin") {
          dropped.add("mjcf: plugin elements are not supported", label(child));
        } else {
          unknown(inner, child, dropped);
        }
      }
    } else if (unsupported.contains(tag)) {
      dropped.add("mjcf: " + tag + " elements are not supported", label(child));
    } else {
      unknown(child, element, dropped);
    }
  }
}

void defaults(const Element& element, Dropped& dropped) {
  static const Names checked{"geom", "site", "mesh", "pair", "general", "motor", "position"};
  static const Names passed{"material", "texture",     "camera", "light",    "tendon",   "velocity", "intvelocity",
                            "damper",   "orientation", "pid",    "cylinder", "adhesion", "muscle",   "dcmotor"};
  for (const Element& child : element.children) {
    if (child.tag == "default") {
      defaults(child, dropped);
    } else if (child.tag == "joint") {
      joint(child, dropped);
    } else if (child.tag == "equality") {
      attributes(child, kEquality, dropped);
    } else if (checked.contains(child.tag)) {
      attributes(child, known().at(child.tag), dropped);
    } else if (!passed.contains(child.tag)) {
      unknown(child, element, dropped);
    }
  }
}

void option(const Element& element, Dropped& dropped) {
  static const Names of_the_step{"timestep", "integrator", "cone", "impratio"};
  Known rule = known().at("option");
  rule.silent.insert(of_the_step.begin(), of_the_step.end());
  attributes(element, rule, dropped);
  for (const std::string& name : of_the_step) {
    if (element.attributes.contains(name)) {
      dropped.add("mjcf: options of MuJoCo's step are not used, a Simulator has its own", name);
    }
  }
  for (const Element& flag : element.children) {
    if (flag.tag != "flag") {
      unknown(flag, element, dropped);
      continue;
    }
    Known flags = known().at("flag");
    flags.silent.insert({"override", "clampctrl"});
    attributes(flag, flags, dropped);
    if (flag.own().text("override") == "enable") dropped.add("mjcf: option flags are not supported", "override=enable");
    if (flag.own().text("clampctrl") == "disable") {
      dropped.add("mjcf: option flags are not supported", "clampctrl=disable");
    }
  }
}

void assets(const Element& section, Dropped& dropped) {
  static const Names shown{"texture", "material", "skin"};
  for (const Element& asset : section.children) {
    if (asset.tag == "mesh" || asset.tag == "hfield") {
      attributes(asset, known().at(asset.tag), dropped);
      if (!asset.children.empty()) dropped.add("mjcf: plugin elements are not supported", label(asset));
    } else if (asset.tag == "model") {
      dropped.add("mjcf: model elements are not supported", label(asset));
    } else if (!shown.contains(asset.tag)) {
      unknown(asset, section, dropped);
    }
  }
}

void actuators(const Element& section, Dropped& dropped) {
  for (const Element& element : section.children) {
    if (element.tag == "general" || element.tag == "motor" || element.tag == "position") {
      attributes(element, known().at(element.tag), dropped);
    } else {
      dropped.add("mjcf: " + element.tag + " actuators are not supported", label(element));
    }
  }
}

void each(const Element& section, const Names& tags, Dropped& dropped) {
  for (const Element& element : section.children) {
    if (tags.contains(element.tag)) {
      attributes(element, known().at(element.tag), dropped);
    } else {
      unknown(element, section, dropped);
    }
  }
}

void equalities(const Element& section, Dropped& dropped) {
  static const Names read{"connect", "weld", "joint"};
  for (const Element& element : section.children) {
    if (read.contains(element.tag)) attributes(element, kEquality, dropped);  // of the others the reader warns
  }
}

}  // namespace

void warn_about_dropped(const Element& root, Scene& scene) {
  static const Names without_effect{"size", "visual", "statistic", "custom"};
  static const Names unsupported{"sensor", "tendon", "deformable", "extension"};
  Dropped dropped;
  attributes(root, known().at("mujoco"), dropped);
  for (const Element& section : root.children) {
    const std::string& tag = section.tag;
    if (without_effect.contains(tag)) continue;
    if (unsupported.contains(tag)) {
      elements(section, tag, dropped);
    } else if (tag == "compiler") {
      attributes(section, known().at(tag), dropped);  // <lengthrange> is for muscles
    } else if (tag == "option") {
      option(section, dropped);
    } else if (tag == "default") {
      defaults(section, dropped);
    } else if (tag == "asset") {
      assets(section, dropped);
    } else if (tag == "worldbody") {
      attributes(section, known().at(tag), dropped);
      body(section, dropped);
    } else if (tag == "contact") {
      each(section, {"pair", "exclude"}, dropped);
    } else if (tag == "keyframe") {
      each(section, {"key"}, dropped);
    } else if (tag == "actuator") {
      actuators(section, dropped);
    } else if (tag == "equality") {
      equalities(section, dropped);
    } else {
      unknown(section, root, dropped);
    }
  }
  dropped.warn(scene);
}

}  // namespace taut::mjcf
