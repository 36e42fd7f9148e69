// URDF and MJCF files of any bytes: read, or refused by std::exception with a message.
#include <unistd.h>

#include <cstdio>
#include <exception>
#include <string>

#include "bytes.hpp"
#include "taut/io/load.hpp"
#include "taut/simulation/simulator.hpp"

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  static const std::string path = "/tmp/taut-fuzz-" + std::to_string(getpid()) + ".xml";
  std::FILE* file = std::fopen(path.c_str(), "wb");
  if (!file) return 0;
  std::fwrite(data, 1, size, file);
  std::fclose(file);
  try {
    const auto scene = std::make_shared<taut::Scene>(taut::load(path));
    taut::Simulator simulator(scene);
    const Eigen::VectorXd v = Eigen::VectorXd::Zero(scene->model.nv);
    const taut::Record& record = simulator.step(scene->q0, v);
    const bool finite = record.q_next.allFinite() && record.v_next.allFinite();
    if (!finite && record.report.status == taut::Status::converged) found("converged, but not finite");
  } catch (const std::exception& error) {
    if (error.what()[0] == '\0') found("an error without a message");
  }
  return 0;
}
